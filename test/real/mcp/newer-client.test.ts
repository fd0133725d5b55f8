import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/log.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../../../src/mcp/transport/http.ts'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { hurriedClock, replyOf } from '../../../testkit/mcp/tool-session.ts'
import { tools } from '../../../tools/index.ts'

// Loaded by name, so that a checkout whose packages are older still compiles and says what it skips.
const isHere = existsSync('node_modules/@modelcontextprotocol/client/package.json')
// biome-ignore lint/suspicious/noExplicitAny: its types are not here where the package is not
const load = (name: string): any => (isHere ? import(name) : {})
const { Client, StreamableHTTPClientTransport } = await load('@modelcontextprotocol/client')
const { StdioClientTransport } = await load('@modelcontextprotocol/client/stdio')

let dist: string
let backend: FakeBackend
let handler: McpHttpHandler
let server: Server

beforeAll(async () => {
  dist = mkdtempSync(path.join(os.tmpdir(), 'longshore-newer-client-'))
  symlinkSync(path.resolve('node_modules'), path.join(dist, 'node_modules'))
  writeFileSync(path.join(dist, 'package.json'), '{"type":"module"}')
  execFileSync(process.execPath, ['build.mjs', path.join(dist, 'dist'), 'testkit/mcp/entry.ts'])
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
  handler = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => backend.url,
    log: createLog('test', 'silent'),
    clock: hurriedClock,
  })
  server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  handler.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await backend.close()
  rmSync(dist, { recursive: true, force: true })
})

const transports: Record<string, () => unknown> = {
  HTTP: () =>
    new StreamableHTTPClientTransport(
      new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
      { requestInit: { headers: { authorization: 'Bearer lsu_new' } } },
    ),
  stdio: () =>
    new StdioClientTransport({
      command: process.execPath,
      args: [path.join(dist, 'dist', 'longshore.js'), 'mcp'],
      env: { PATH: process.env.PATH!, LONGSHORE_URL: backend.url, LONGSHORE_TOKEN: 'lsu_new' },
      stderr: 'ignore',
    }),
}

/** The next major version of the library's client, which asks for a newer protocol first and takes ours. */
const skipped = isHere ? '' : ' (skipped: the package is not installed)'
describe.skipIf(!isHere).each(Object.keys(transports))(
  `a client of the next library over %s${skipped}`,
  (name) => {
    it.each(['legacy', 'auto'] as const)(
      'that connects with %s negotiation lists tools, calls them and answers elicitations',
      async (mode) => {
        const client = new Client(
          { name: 'newer', version: '2' },
          { versionNegotiation: { mode }, capabilities: { elicitation: {} } },
        )
        const questions: string[] = []
        client.setRequestHandler('elicitation/create', (request: { params: { message: string } }) => {
          questions.push(request.params.message)
          return { action: 'decline' }
        })
        await client.connect(transports[name]!())
        try {
          expect((await client.listTools()).tools.map((tool: { name: string }) => tool.name)).toEqual(
            tools.map((tool) => tool.name),
          )
          expect((await client.listResources()).resources.length).toBeGreaterThan(0)
          expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
          const progress: unknown[] = []
          backend.state.plans = [{ reads: 4 }]
          const deployed = await client.callTool(
            { name: 'deploy-app-env-image', arguments: { envName: 'shop-prod', image: 'shop:2' } },
            { onprogress: (one: unknown) => progress.push(one) },
          )
          expect(replyOf(deployed).structured).toMatchObject({ deployment: { outcome: 'serves' } })
          expect(progress.length).toBeGreaterThan(0)
          const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod', confirm: 'shop-prod' } }
          expect(replyOf(await client.callTool(remove)).structured.error).toBe('The person did not agree')
          expect(questions).toHaveLength(1)
        } finally {
          await client.close()
        }
      },
      180_000,
    )
  },
)
