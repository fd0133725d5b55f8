/** The first words of the server, which stand for it in a build log. */
const marker = '/* static server of Longshore */'

/**
 * The server of the STATIC preset, in plain Node. Arguments: `app` (unknown paths without extension serve index.html) or
 * `site` (they return 404), then folders, of which the first with an index.html is served, without dot files and
 * node_modules. Sends `.br` and `.gz` files if they exist.
 */
export const staticServerJs = `${marker}
const http = require('node:http'), fs = require('node:fs'), path = require('node:path'), zlib = require('node:zlib')
const [kind, ...folders] = process.argv.slice(1)
const has = (file) => fs.existsSync(file) && fs.statSync(file).isFile()
const folder = folders.find((one) => has(path.join(one, 'index.html')))
if (!folder) { console.error('no index.html in ' + folders.join(', ')); process.exit(1) }
const root = path.resolve(folder)
const types = { html: 'text/html; charset=utf-8', htm: 'text/html; charset=utf-8', css: 'text/css; charset=utf-8', js: 'text/javascript; charset=utf-8', mjs: 'text/javascript; charset=utf-8', json: 'application/json', map: 'application/json', webmanifest: 'application/manifest+json', xml: 'application/xml', txt: 'text/plain; charset=utf-8', md: 'text/markdown; charset=utf-8', csv: 'text/csv; charset=utf-8', svg: 'image/svg+xml', png: 'image/png', jpg: 'image/jpeg', jpeg: 'image/jpeg', gif: 'image/gif', webp: 'image/webp', avif: 'image/avif', ico: 'image/x-icon', woff: 'font/woff', woff2: 'font/woff2', ttf: 'font/ttf', otf: 'font/otf', wasm: 'application/wasm', pdf: 'application/pdf', mp4: 'video/mp4', webm: 'video/webm', mp3: 'audio/mpeg' }
const isText = (type) => /^text\\/|json|xml|javascript|wasm|font\\/[to]tf/.test(type)
const bundled = /(?:^|\\/)(?:assets|static|_next|_astro|_nuxt|_app|build|chunks|media)\\//
const isHashed = (file) => {
  const hash = /[-._]([A-Za-z0-9]{8,64})(?:\\.(?:chunk|min|bundle))?\\.[a-z0-9]+(?:\\.map)?$/.exec(path.basename(file))?.[1]
  if (!hash || /\\.html?$/.test(file)) return false
  const [digit, lower, upper] = [/[0-9]/, /[a-z]/, /[A-Z]/].map((one) => one.test(hash))
  if (digit && lower && (upper ? /\\.(?:m?js|css|map)$/.test(file) : /^[0-9a-f]+$/.test(hash))) return true
  return kind === 'app' && bundled.test(path.relative(root, file)) && (digit ? lower || upper : lower && upper)
}
const hidden = (name) => name === 'node_modules' || (name.startsWith('.') && name !== '.well-known')
const find = (pathname) => {
  const parts = pathname.split('/').filter(Boolean)
  if (pathname.includes('\\0') || parts.some((part) => part === '..' || hidden(part))) return null
  const at = path.join(root, ...parts)
  return [at, path.join(at, 'index.html'), at + '.html'].find(has) ?? null
}
const clean = (target, file) => {
  const name = '/' + path.relative(root, file).split(path.sep).join('/')
  const isIndex = name.endsWith('/index.html')
  if (!isIndex && !target.endsWith('.html')) return null
  const short = isIndex ? name.slice(0, -10) : name.slice(0, -5)
  const url = short.split('/').map(encodeURIComponent).join('/')
  return url !== target && find(short) === file ? url : null
}
const encodings = { br: '.br', gzip: '.gz' }
const accepted = (header) => {
  const wanted = new Map(String(header ?? '').split(',').map((one) => one.trim().toLowerCase().split(/ *; *q=/)).map(([name, q]) => [name, Number(q ?? 1)]))
  return ['br', 'gzip'].filter((name) => (wanted.get(name) ?? wanted.get('*') ?? 0) > 0)
}
const kept = new Map()
let keptBytes = 0
const packed = (file, etag, name, done) => {
  const key = name + etag + file
  const known = kept.get(key)
  if (known) return done(known)
  const pack = name === 'br' ? (data, next) => zlib.brotliCompress(data, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 } }, next) : zlib.gzip
  fs.readFile(file, (failed, data) => failed ? done(null) : pack(data, (error, result) => {
    if (error) return done(null)
    if (keptBytes + result.length <= 16777216 && !kept.has(key)) { kept.set(key, result); keptBytes += result.length }
    done(result)
  }))
}
const send = (request, response, status, file) => {
  const { size, mtimeMs } = fs.statSync(file)
  const type = types[path.extname(file).slice(1).toLowerCase()] ?? 'application/octet-stream'
  const etag = size.toString(36) + '-' + Math.round(mtimeMs).toString(36)
  const names = isText(type) ? accepted(request.headers['accept-encoding']) : []
  const ready = names.find((name) => has(file + encodings[name]))
  const name = ready ?? (size >= 1024 && size <= 4194304 ? names[0] : undefined)
  const tag = '"' + etag + (name ? '-' + name : '') + '"'
  const headers = { etag: tag, 'cache-control': status === 200 && isHashed(file) ? 'public, max-age=31536000, immutable' : 'no-cache', 'x-content-type-options': 'nosniff' }
  if (isText(type)) headers.vary = 'accept-encoding'
  if (status === 200 && String(request.headers['if-none-match'] ?? '').split(/, */).some((one) => one.replace(/^W\\//, '') === tag)) return response.writeHead(304, headers).end()
  headers['content-type'] = type
  const whole = (from, length) => {
    response.writeHead(status, { ...headers, 'content-length': length })
    if (request.method === 'HEAD') return response.end()
    fs.createReadStream(from).on('error', () => response.destroy()).pipe(response)
  }
  if (!name) return whole(file, size)
  const plain = { ...headers, etag: '"' + etag + '"' }
  headers['content-encoding'] = name
  if (ready) return whole(file + encodings[ready], fs.statSync(file + encodings[ready]).size)
  packed(file, etag, name, (data) => {
    if (data) return response.writeHead(status, { ...headers, 'content-length': data.length }).end(request.method === 'HEAD' ? undefined : data)
    response.writeHead(500, plain).end()
  })
}
const server = http.createServer((request, response) => {
  if (request.method !== 'GET' && request.method !== 'HEAD') return response.writeHead(405, { allow: 'GET, HEAD' }).end()
  let pathname
  const [target, query] = request.url.split(/\\?(.*)/s)
  try { pathname = decodeURIComponent(target) } catch { return response.writeHead(400).end() }
  try {
    const file = find(pathname)
    const other = file && clean(target, file)
    if (other) return response.writeHead(308, { location: other + (query === undefined ? '' : '?' + query), 'cache-control': 'no-cache' }).end()
    if (file) return send(request, response, 200, file)
    if (has(path.join(root, '404.html'))) return send(request, response, 404, path.join(root, '404.html'))
    if (kind === 'app' && path.extname(pathname) === '') return send(request, response, 200, path.join(root, 'index.html'))
  } catch { return response.writeHead(500).end() }
  response.writeHead(404, { 'content-type': 'text/plain' }).end('Not found')
})
server.listen(Number(process.env.PORT), () => console.log('serving ' + folder + ' on ' + process.env.PORT))
process.on('SIGTERM', () => { server.close(() => process.exit(0)); server.closeIdleConnections() })
`

/** A line of a build log without the source of the server. */
export function withoutStaticServer(line: string): string {
  const start = line.indexOf(marker)
  return start < 0 ? line : `${line.slice(0, start + marker.length)} …`
}
