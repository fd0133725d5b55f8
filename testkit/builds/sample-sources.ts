import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

/**
 * A server without dependencies that tests drive over HTTP and by variables:
 *
 *   /env?name=                        answers a variable
 *   /log?text=, /error-log?text=      print a line
 *   /exit?code=                       ends it
 *   /burn?ms=, /hog?mb=               keep the CPU busy, hold memory
 *   /write?name=&text=, /read?name=   use a file in the folder of `DATA_DIR`
 *   anything else                     says `hello from <GREETING>`
 *   MODE=exit, MODE=idle              ends at once with `EXIT_CODE`, runs without a port
 *   ON_TERM=ignore                    stays on SIGTERM
 */
export const sampleServerJs = `
const http = require('node:http')
const fs = require('node:fs')
const { env } = process
const held = []

process.on('SIGTERM', () => {
  console.log(env.ON_TERM === 'ignore' ? 'ignoring SIGTERM' : 'stopping')
  if (env.ON_TERM !== 'ignore') process.exit(0)
})

const answers = {
  '/env': (query) => env[query.get('name')] ?? '',
  '/log': (query) => void process.stdout.write(query.get('text') + '\\n'),
  '/error-log': (query) => void process.stderr.write(query.get('text') + '\\n'),
  '/exit': (query) => void setTimeout(() => process.exit(Number(query.get('code'))), 1),
  '/burn': (query) => {
    for (const end = Date.now() + Number(query.get('ms')); Date.now() < end; );
  },
  '/write': (query) => void fs.writeFileSync(env.DATA_DIR + '/' + query.get('name'), query.get('text')),
  '/read': (query) => (fs.existsSync(env.DATA_DIR + '/' + query.get('name')) ? fs.readFileSync(env.DATA_DIR + '/' + query.get('name'), 'utf8') : 'nothing'),
  '/hog': (query) => void held.push(Buffer.alloc(Number(query.get('mb')) * 1048576, 1)),
}

if (env.MODE === 'exit') {
  console.error('cannot start: told to exit')
  process.exit(Number(env.EXIT_CODE ?? 1))
} else if (env.MODE === 'idle') {
  console.log('idle')
  setInterval(() => {}, 60_000)
} else {
  http
    .createServer((request, response) => {
      const url = new URL(request.url, 'http://localhost')
      const answer = answers[url.pathname]
      response.end(answer ? String(answer(url.searchParams) ?? 'ok') : 'hello from ' + (env.GREETING ?? 'nobody'))
    })
    .listen(Number(env.PORT), () => console.log('listening'))
}
`

/** A Dockerfile for `sampleServerJs`; `baseImage` must bring `node` and `/bin/sh`. `steps` come before CMD. */
export function sampleDockerfile(baseImage: string, steps: readonly string[] = []): string {
  return [`FROM ${baseImage}`, 'WORKDIR /app', 'COPY . .', ...steps, 'CMD ["node", "server.js"]', ''].join(
    '\n',
  )
}

/** File name (may hold slashes) to text. */
export type SourceFiles = Record<string, string>

/** Writes a source folder under the system's temporary folder; the caller removes it. */
export async function writeSource(files: SourceFiles): Promise<{ dir: string; remove(): Promise<void> }> {
  const dir = await mkdtemp(path.join(tmpdir(), 'longshore-source-'))
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(dir, name)
    await mkdir(path.dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) }
}
