import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { FastifyInstance } from 'fastify'
import { apiPrefix } from '../contract/operation.ts'

/** Path of the API reference for browsers. */
export const referencePath = '/docs'

/** Files of the library, in its package and in the folder that the build copies them to. */
const libraryFiles = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const

// Load everything from this server, connect only to it, and forbid framing.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Longshore API reference</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${referencePath}/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<noscript>This page needs JavaScript. The OpenAPI document: <a href="${apiPrefix}/openapi.json">openapi.json</a></noscript>
<script src="${referencePath}/swagger-ui-bundle.js"></script>
<script src="${referencePath}/start.js"></script>
</body>
</html>
`

const start = `SwaggerUIBundle({
  url: '${apiPrefix}/openapi.json',
  domNode: document.getElementById('reference'),
  deepLinking: true,
  docExpansion: 'list',
  filter: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
})
`

/** Adds the page; `libraryDir` holds `libraryFiles`. Files are read on the first request. */
export function addReferenceRoutes(app: FastifyInstance, libraryDir: string): void {
  const add = (url: string, type: string, body: () => string | Promise<Buffer>) =>
    app.get(url, { exposeHeadRoute: true, config: { quiet: true } }, async (_request, reply) =>
      reply
        .header('content-type', `${type}; charset=utf-8`)
        .header('content-security-policy', policy)
        .header('referrer-policy', 'no-referrer')
        .header('x-frame-options', 'DENY')
        .send(await body()),
    )
  add(referencePath, 'text/html', () => page)
  add(`${referencePath}/`, 'text/html', () => page)
  add(`${referencePath}/start.js`, 'text/javascript', () => start)
  for (const file of libraryFiles) {
    const type = file.endsWith('.css') ? 'text/css' : 'text/javascript'
    add(`${referencePath}/${file}`, type, () => readFile(path.join(libraryDir, file)))
  }
}
