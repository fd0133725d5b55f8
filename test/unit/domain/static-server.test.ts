import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { staticServerJs, withoutStaticServer } from '../../../src/domain/apps/static-server.ts'
import { freePort } from '../../../testkit/free-port.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'static-'))
const script = 'let a = 1;\n'.repeat(500)
const files: Record<string, string | Buffer> = {
  'index.html': `<h1>home</h1>${' '.repeat(2_000)}`,
  '404.html': '<h1>lost</h1>',
  'about.html': 'about',
  'docs/index.html': 'docs',
  'both.html': 'file',
  'both/index.html': 'folder',
  'small.css': 'a{}',
  'report-20240101.json': '{}',
  'my-document.css': 'a{}',
  'assets/index-BxK3d9Qz.js': script,
  'main.8f3a2b1c.css': 'b{}',
  'packed.js': script,
  'packed.js.br': brotliCompressSync('precompressed'),
  'photo.png': Buffer.alloc(5_000),
}
let server: ChildProcess
let port = 0

beforeAll(async () => {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), content)
  }
  port = await freePort()
  server = spawn(process.execPath, ['-e', staticServerJs, 'site', folder], {
    env: { PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => server.stdout!.once('data', resolve))
})
afterAll(() => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
}

function get(pathname: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, path: pathname, headers, method, agent: false }, (response) => {
      const pieces: Buffer[] = []
      response.on('data', (piece) => pieces.push(piece))
      response.on('end', () =>
        resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(pieces) }),
      )
    })
    request.on('error', reject).end()
  })
}

describe('the server of the STATIC preset', () => {
  it('compresses texts as the client accepts it, with an etag for each form', async () => {
    const br = await get('/assets/index-BxK3d9Qz.js', { 'accept-encoding': 'gzip, deflate, br' })
    expect(br.headers).toMatchObject({ 'content-encoding': 'br', vary: 'accept-encoding' })
    expect(brotliDecompressSync(br.body).toString()).toBe(script)
    expect(br.body.length).toBeLessThan(script.length / 10)
    const gzip = await get('/assets/index-BxK3d9Qz.js', { 'accept-encoding': 'br;q=0, gzip' })
    expect(gunzipSync(gzip.body).toString()).toBe(script)
    const plain = await get('/assets/index-BxK3d9Qz.js')
    expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, script])
    expect(new Set([br, gzip, plain].map(({ headers }) => headers.etag)).size).toBe(3)
    const again = { 'accept-encoding': 'br', 'if-none-match': String(br.headers.etag) }
    expect((await get('/assets/index-BxK3d9Qz.js', again)).status).toBe(304)
    const head = await get('/assets/index-BxK3d9Qz.js', { 'accept-encoding': 'br' }, 'HEAD')
    expect([head.headers['content-length'], head.body.length]).toEqual([String(br.body.length), 0])
  })

  it('sends precompressed files, and leaves small files and pictures alone', async () => {
    const { body, headers } = await get('/packed.js', { 'accept-encoding': 'br' })
    expect([headers['content-encoding'], brotliDecompressSync(body).toString()]).toEqual([
      'br',
      'precompressed',
    ])
    for (const name of ['/small.css', '/photo.png'])
      expect((await get(name, { 'accept-encoding': 'br' })).headers['content-encoding']).toBeUndefined()
  })

  it('lets files with a hash in their names be cached for a year, and no others', async () => {
    const cached = async (name: string) => (await get(name)).headers['cache-control']?.includes('immutable')
    expect(await cached('/assets/index-BxK3d9Qz.js')).toBe(true)
    expect(await cached('/main.8f3a2b1c.css')).toBe(true)
    for (const name of ['/', '/report-20240101.json', '/my-document.css', '/packed.js'])
      expect(await cached(name), name).toBe(false)
  })

  it('has clean URLs: one address for each page', async () => {
    expect((await get('/about')).body.toString()).toBe('about')
    const moved = async (from: string) => (await get(from)).headers.location
    expect(await moved('/about.html?a=1')).toBe('/about?a=1')
    expect(await moved('/index.html')).toBe('/')
    // Relative links of the page resolve below its folder.
    expect(await moved('/docs')).toBe('/docs/')
    expect((await get('/docs/')).body.toString()).toBe('docs')
    // The short address belongs to another page.
    expect((await get('/both.html')).body.toString()).toBe('file')
  })

  it('serves 404.html with its status, compressed too', async () => {
    const { status, body, headers } = await get('/none', { 'accept-encoding': 'br' })
    expect([status, body.toString(), headers['cache-control']]).toEqual([404, '<h1>lost</h1>', 'no-cache'])
  })

  it('is not in the build log', () => {
    const line = `Step 8/8 : CMD ${JSON.stringify(['node', '-e', staticServerJs, 'site', '.'])}`
    expect(withoutStaticServer(line)).toBe('Step 8/8 : CMD ["node","-e","/* static server of Longshore */ …')
    expect(withoutStaticServer('RUN npm ci')).toBe('RUN npm ci')
  })
})
