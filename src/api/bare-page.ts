import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { pageHeaders } from './console-routes.ts'

const style = `body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color:#1c1c1c;background:#fff}
textarea{box-sizing:border-box;width:100%;font:14px monospace;padding:.5rem}button{font:inherit;padding:.5rem 1rem;margin-top:.75rem}
table{border-collapse:collapse;width:100%;table-layout:fixed}th,td{border:1px solid #999;padding:.3rem;text-align:left;overflow-wrap:anywhere}
code{background:#eee;padding:.1em .3em;overflow-wrap:anywhere}[role=alert]{color:#a40000}`

const policy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Pages of links that work without a session: no script, no cookie. */
export function sendPage(reply: FastifyReply, status: number, html: string): FastifyReply {
  return (
    reply
      .code(status)
      .headers(pageHeaders(policy))
      // With `no-referrer` browsers send the form with `Origin: null`, which the check of origins refuses.
      .header('referrer-policy', 'same-origin')
      .header('content-type', 'text/html; charset=utf-8')
      .send(html)
  )
}

export function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="robots" content="noindex"><title>${escaped(title)} - Longshore</title><style>${style}</style></head>
<body><main><h1>${escaped(title)}</h1>${body}</main></body></html>`
}

export function escaped(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }
  return text.replace(/[&<>"']/g, (character) => entities[character]!)
}
