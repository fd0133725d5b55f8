/**
 * The server of the STATIC preset: one file of plain Node without dependencies. Arguments: `app` (unknown paths
 * without extension serve index.html) or `site` (they return 404), then folders, of which the first with an
 * index.html is served. Dot files and node_modules are never served; a `404.html` is.
 */
export const staticServerJs = `
const http = require('node:http'), fs = require('node:fs'), path = require('node:path')
const [kind, ...folders] = process.argv.slice(1)
const has = (file) => fs.existsSync(file) && fs.statSync(file).isFile()
const folder = folders.find((one) => has(path.join(one, 'index.html')))
if (!folder) { console.error('no index.html in ' + folders.join(', ')); process.exit(1) }
const root = path.resolve(folder)
const types = { html: 'text/html; charset=utf-8', htm: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', mjs: 'text/javascript; charset=utf-8', json: 'application/json', map: 'application/json', webmanifest: 'application/manifest+json', xml: 'application/xml', txt: 'text/plain; charset=utf-8', md: 'text/markdown; charset=utf-8', csv: 'text/csv; charset=utf-8', svg: 'image/svg+xml', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', ico: 'image/x-icon', woff: 'font/woff', woff2: 'font/woff2', ttf: 'font/ttf', otf: 'font/otf', wasm: 'application/wasm', pdf: 'application/pdf', mp4: 'video/mp4', webm: 'video/webm', mp3: 'audio/mpeg' }
const hidden = (name) => name === 'node_modules' || (name.startsWith('.') && name !== '.well-known')
const find = (pathname) => {
  const parts = pathname.split('/').filter(Boolean)
  if (pathname.includes('\\0') || parts.some((part) => part === '..' || hidden(part))) return null
  const at = path.join(root, ...parts)
  return [at, path.join(at, 'index.html'), at + '.html'].find(has) ?? null
}
const send = (request, response, status, file) => {
  const { size, mtimeMs } = fs.statSync(file)
  const etag = '"' + size.toString(36) + '-' + Math.round(mtimeMs).toString(36) + '"'
  const headers = { etag, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' }
  if (status === 200 && request.headers['if-none-match'] === etag) return response.writeHead(304, headers).end()
  headers['content-type'] = types[path.extname(file).slice(1).toLowerCase()] ?? 'application/octet-stream'
  headers['content-length'] = size
  response.writeHead(status, headers)
  if (request.method === 'HEAD') return response.end()
  fs.createReadStream(file).on('error', () => response.destroy()).pipe(response)
}
const server = http.createServer((request, response) => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end()
  let pathname
  try { pathname = decodeURIComponent(request.url.split('?')[0]) } catch { return response.writeHead(400).end() }
  const file = find(pathname)
  if (file) return send(request, response, 200, file)
  if (has(path.join(root, '404.html'))) return send(request, response, 404, path.join(root, '404.html'))
  if (kind === 'app' && path.extname(pathname) === '') return send(request, response, 200, path.join(root, 'index.html'))
  response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found')
})
server.listen(Number(process.env.PORT), () => console.log('serving ' + folder + ' on ' + process.env.PORT))
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`
