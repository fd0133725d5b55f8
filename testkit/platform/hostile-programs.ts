import type { Health } from '../../src/contract/health.ts'
import { versionSource } from '../gateway/rolling-load.ts'

/** The stability window of 10 s takes 2 s here, so the times in the programs are a fifth of the named ones. */
export const hostileClockScale = 5

export const listens = (rest: string, port = 'process.env.PORT') => `
const server = require('node:http').createServer((request, response) => {
  if (request.url === '/break') global.broken = true
  response.statusCode = global.broken ? 500 : 200
  response.end('99')
})
server.listen(${port})
${rest}
`

/** Listens, and runs `code` this long after the first request, because the time until a container is seen differs. */
const afterRequest = (ms: number, code: string) =>
  listens(`server.once('request', () => setTimeout(() => { ${code} }, ${ms}))`)

/** Exits this long after its start, even if it has not been seen yet. */
const exitsEarly = (ms: number) => listens(`setTimeout(() => process.exit(3), ${ms})`)
export const exitsAfter = (ms: number) => afterRequest(ms, 'process.exit(3)')

/** Programs that no deployment may count as good. */
export const badPrograms: Record<string, { server: string; reason: RegExp }> = {
  'exits before it listens': { server: 'process.exit(1)', reason: /exits-at-once/ },
  'exits after 0.2 s': { server: exitsEarly(40), reason: /exit/ },
  'exits after 1 s': { server: exitsEarly(200), reason: /exit/ },
  'exits after 5 s': { server: exitsAfter(1_000), reason: /exited/ },
  'answers 500 from the start': { server: listens('global.broken = true'), reason: /failing-checks/ },
  'answers 500 after 4 s': {
    server: afterRequest(800, 'global.broken = true'),
    reason: /failing-checks/,
  },
  // Most of its 512 MB before it listens: on a busy machine the window is over before so much is written.
  'leaks memory': {
    server: `const held = [Buffer.alloc(384e6, 1)]; ${listens('setInterval(() => held.push(Buffer.alloc(64e6, 1)), 5)')}`,
    reason: /out-of-memory/,
  },
  'stops listening after 2 s': {
    server: afterRequest(400, 'server.close(); server.closeAllConnections(); setInterval(() => {}, 1e6)'),
    reason: /failing-checks|unreachable/,
  },
  'listens on loopback only': {
    server: listens('', "process.env.PORT, '127.0.0.1'"),
    reason: /loopback-bind/,
  },
}

/** Programs that fail after the window: the status must report it. */
export const latePrograms: Record<string, { server: string; verdict: Health['verdict'] }> = {
  'exits after 20 s': { server: exitsAfter(4_000), verdict: 'CRASH_LOOP' },
  'answers 500 after a minute': {
    server: afterRequest(12_000, 'global.broken = true'),
    verdict: 'FAILING_CHECKS',
  },
}

/** Programs that every deployment must accept, in this order: the second replaces one that ignores SIGTERM. */
export const goodPrograms: Record<string, string> = {
  'ignores SIGTERM': listens("process.on('SIGTERM', () => {})"),
  'listens late': `setTimeout(() => { ${listens('')} }, 1500)`,
}

/** The checks that a program with these times needs. */
export const hostileHealthCheck = { path: '/', intervalSeconds: 3, timeoutSeconds: 3 }

export function programSource(base: string, server: string): Record<string, string> {
  return { ...versionSource(base, 0), 'server.js': server }
}
