import { newTraceparent, traceIdOf } from '../../trace.ts'
import type { RequestHead } from './request-head.ts'

/**
 * The id of a request on the page that its visitor gets, which the request log has too; null if the request does not
 * accept HTML.
 */
export function pageIdOf(head: RequestHead): string | null {
  if (!head.block.acceptsHtml) return null
  head.traceparent ??= newTraceparent()
  return traceIdOf(head.traceparent)
}

/** A page for people: why it fails is for the owner of the environment, in the request log. */
export function errorPage(status: number, requestId: string): string {
  const [title, text] = wordsOf(status)
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title>` +
    '<meta name="viewport" content="width=device-width, initial-scale=1"><style>' +
    'body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto 0;padding:0 1.5rem;color-scheme:light dark}' +
    'h1{font-size:1.5rem}small{opacity:.7}</style></head>' +
    `<body><main><h1>${title}</h1><p>${text}</p><small>Request ${requestId}</small></main></body></html>`
  )
}

function wordsOf(status: number): [title: string, text: string] {
  if (status === 404) return ['Not found', 'There is no site at this address.']
  if (status === 504) return ['No response in time', 'The site took too long to respond. Please try again.']
  if (status === 502) return ['Something went wrong', 'The site could not respond. Please try again later.']
  if (status === 503) return ['Not available', 'The site is not available right now. Please try again later.']
  return ['Request not served', 'The site cannot serve this request.']
}
