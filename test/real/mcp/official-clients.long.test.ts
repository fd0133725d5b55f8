import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { Client as NewClient, StreamableHTTPClientTransport as NewHttp } from '@modelcontextprotocol/client'
import { StdioClientTransport as NewStdio } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/log.ts'
import { defaultTools } from '../../../src/mcp/policy/default-tools.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../../../src/mcp/transport/http/handler.ts'
import { type FakeBackend, startFakeBackend, untilReadsStop } from '../../../testkit/fakes/backend.ts'
import { hurriedClock, replyOf } from '../../../testkit/mcp/tool-session.ts'
import { until } from '../../../testkit/until.ts'
import { tools } from '../../../tools/index.ts'

let dist: string
let backend: FakeBackend
let handler: McpHttpHandler
let server: Server

beforeAll(async () => {
  dist = mkdtempSync(path.join(os.tmpdir(), 'longshore-official-clients-'))
  symlinkSync(path.resolve('node_modules'), path.join(dist, 'node_modules'))
  writeFileSync(path.join(dist, 'package.json'), '{"type":"module"}')
  execFileSync(process.execPath, ['build.mjs', path.join(dist, 'dist'), 'testkit/mcp/entry.ts'])
  backend = await startFakeBackend()
  handler = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => backend.url,
    log: createLog('test', 'silent'),
    clock: hurriedClock,
  })
  server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
beforeEach(() => {
  backend.state.add({ name: 'prod' })
})
afterAll(async () => {
  handler.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  await backend.close()
  rmSync(dist, { recursive: true, force: true })
})

const address = () => new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
const httpOptions = { requestInit: { headers: { authorization: 'Bearer lsu_official' } } }
const command = () => ({
  command: process.execPath,
  args: [path.join(dist, 'dist', 'longshore.js'), 'mcp'],
  env: { PATH: process.env.PATH!, LONGSHORE_URL: backend.url, LONGSHORE_TOKEN: 'lsu_official' },
  stderr: 'ignore' as const,
})
const transports = {
  HTTP: { old: () => new OldHttp(address(), httpOptions), new: () => new NewHttp(address(), httpOptions) },
  stdio: { old: () => new OldStdio(command()), new: () => new NewStdio(command()) },
}
type TransportName = keyof typeof transports

/** What both majors of the library's client have in common. */
interface OfficialClient {
  era: string | undefined
  listTools(): Promise<{ tools: { name: string }[] }>
  listResources(): Promise<{ resources: { uri: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: unknown[] }>
  listPrompts(): Promise<{ prompts: unknown[] }>
  callTool(name: string, args: Record<string, unknown>, onprogress?: (one: unknown) => void): Promise<unknown>
  close(): Promise<void>
}

type Answer = { action: 'accept'; content: { agree: boolean } } | { action: 'decline' }
type Person = (question: string) => Answer

const mode2026 = { pin: '2026-07-28' }
const negotiations = { legacy: 'legacy', auto: 'auto', modern: mode2026 } as const

async function connect(
  name: TransportName,
  kind: 'the 1.x client' | keyof typeof negotiations,
  person: Person,
): Promise<OfficialClient> {
  if (kind === 'the 1.x client') {
    const client = new OldClient({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } })
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => person(params.message))
    await client.connect(transports[name].old())
    return {
      era: 'legacy',
      listTools: () => client.listTools(),
      listResources: () => client.listResources(),
      readResource: (params) => client.readResource(params),
      listPrompts: () => client.listPrompts(),
      callTool: (tool, args, onprogress) =>
        client.callTool({ name: tool, arguments: args }, undefined, onprogress ? { onprogress } : {}),
      close: () => client.close(),
    }
  }
  const client = new NewClient(
    { name: 'new', version: '2' },
    { versionNegotiation: { mode: negotiations[kind] }, capabilities: { elicitation: {} } },
  )
  client.setRequestHandler('elicitation/create', ({ params }) => person(params.message))
  await client.connect(transports[name].new())
  return {
    era: client.getProtocolEra(),
    listTools: () => client.listTools(),
    listResources: () => client.listResources(),
    readResource: (params) => client.readResource(params),
    listPrompts: () => client.listPrompts(),
    callTool: (tool, args, onprogress) =>
      client.callTool({ name: tool, arguments: args }, onprogress ? { onprogress } : {}),
    close: () => client.close(),
  }
}

describe.each(['HTTP', 'stdio'] as const)('over %s', (transport) => {
  it.each([
    ['the 1.x client', 'legacy'],
    ['legacy', 'legacy'],
    ['auto', 'modern'],
    ['modern', 'modern'],
  ] as const)('an official client (%s) uses everything, in the %s era', async (kind, era) => {
    const answers: Answer[] = [{ action: 'decline' }, { action: 'accept', content: { agree: true } }]
    const questions: string[] = []
    const client = await connect(transport, kind, (question) => {
      questions.push(question)
      return answers.shift()!
    })
    try {
      expect(client.era).toBe(era)
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
        tools.map(({ name }) => name).filter((name) => defaultTools.has(name)),
      )
      expect((await client.listResources()).resources.length).toBeGreaterThan(0)
      expect((await client.readResource({ uri: 'longshore://environments' })).contents).toHaveLength(1)
      expect((await client.listPrompts()).prompts.length).toBeGreaterThan(0)
      const progress: unknown[] = []
      backend.state.plans = [{ reads: 4 }]
      const image = { envName: 'shop-prod', image: 'shop:2' }
      const deployed = await client.callTool('deploy-app-env-image', image, (one) => progress.push(one))
      expect(replyOf(deployed).structured).toMatchObject({ deployment: { outcome: 'serves' } })
      expect(progress.length).toBeGreaterThan(0)
      // The name in `confirm` is no substitute for the answer of a person.
      const remove = { envName: 'shop-prod', confirm: 'shop-prod' }
      const refused = replyOf(await client.callTool('delete-app-env', remove))
      expect(refused.structured.error).toBe('The host declined')
      expect(replyOf(await client.callTool('delete-app-env', remove)).isError).toBe(false)
      expect(questions).toHaveLength(2)
      expect(questions[0]).toMatch(/^Delete /)
    } finally {
      await client.close()
    }
  })

  it('an official client is notified of an environment that changes, and ends a call', async () => {
    const client = new NewClient({ name: 'new', version: '2' }, { versionNegotiation: { mode: mode2026 } })
    const changed: string[] = []
    client.setNotificationHandler(
      'notifications/resources/updated',
      ({ params }) => void changed.push(params.uri),
    )
    await client.connect(transports[transport].new())
    try {
      const uri = 'longshore://environments/shop-prod'
      const subscription = await client.listen({ resourceSubscriptions: [uri] })
      expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: [uri] })
      const reads = () => backend.state.countOf('get-app-env-status')
      const before = reads()
      await until(() => reads() > before)
      for (const env of backend.state.envs.values()) env.status = 'STOPPED'
      await until(() => changed.length > 0)
      expect(new Set(changed)).toEqual(new Set([uri]))
      await subscription.close()
      await untilReadsStop(backend)
      backend.state.plans = [{ reads: 1_000_000 }]
      const left = new AbortController()
      const image = { name: 'deploy-app-env-image', arguments: { envName: 'shop-prod', image: 'shop:2' } }
      const called = client.callTool(image, { signal: left.signal })
      const started = reads()
      await until(() => reads() > started + 2)
      left.abort()
      await expect(called).rejects.toThrow()
      await untilReadsStop(backend)
    } finally {
      await client.close()
    }
  })
})
