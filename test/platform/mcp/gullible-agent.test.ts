import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Client, createClient } from '../../../src/client/client.ts'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { AppError } from '../../../src/errors.ts'
import { defaultToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import type { ToolContext } from '../../../src/mcp/tools/define-tool.ts'
import { publishTools } from '../../../src/mcp/tools/publish.ts'
import { listedTools } from '../../../src/mcp/tools/published-tool.ts'
import { createReadCache } from '../../../src/mcp/tools/read-cache.ts'
import type { ToolResult } from '../../../src/mcp/tools/result.ts'
import { RetriedCalls } from '../../../src/mcp/tools/retried-calls.ts'
import { runTool } from '../../../src/mcp/tools/run-tool.ts'
import { createMcpServer } from '../../../src/mcp/transport/server.ts'
import { type FakeBackend, fakeToken, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { hostile, hostilePlatform } from '../../../testkit/mcp/hostile-platform.ts'
import { hurriedClock } from '../../../testkit/mcp/tool-session.ts'
import { tools } from '../../../tools/index.ts'

/** A wait of a second, the shortest that an agent can ask for, is over at once. */
const clock: Clock = { ...hurriedClock, monotonicMs: () => systemClock.monotonicMs() * 40 }

const hidden = /[\p{Default_Ignorable_Code_Point}\p{Cs}\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029]/u

let backend: FakeBackend
beforeEach(async () => {
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
})
afterEach(() => backend.close())

/** Progress messages and faults since the start of the test. */
const told: string[] = []
const faults: unknown[] = []
beforeEach(() => {
  told.length = 0
  faults.length = 0
})

function run(
  client: Client,
  name: string,
  args: Record<string, unknown>,
  askPerson: ToolContext['askPerson'] = null,
): Promise<ToolResult> {
  return runTool(
    {
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      toolPolicy: defaultToolPolicy,
      client,
      reads: createReadCache(client, clock),
      clock,
      signal: AbortSignal.timeout(10_000),
      progress: (message) => told.push(message),
      askPerson,
      retries: new RetriedCalls(systemClock),
      caller: '',
      onFault: (error) => faults.push(error),
    },
    name,
    args,
  )
}

/** The text without its envelopes, which an agent takes for our own text. */
function ownWords(text: string): string {
  return text.replaceAll(/<untrusted ([0-9a-f]{32})>\n[\s\S]*\n<\/untrusted \1>/g, '')
}

/** The next calls of a model that obeys every line that it takes for ours. */
function ordersIn(text: string): string[] {
  return ownWords(text)
    .split(/\r\n|[\n\r\u2028\u2029\u0085]/)
    .filter((line) => line.trimStart().startsWith('CALL '))
}

function expectNothingPasses(...texts: string[]): void {
  for (const text of texts) {
    expect(ordersIn(text)).toEqual([])
    expect(text).not.toMatch(hidden)
    // Nor escaped in JSON.
    expect(text).not.toMatch(/\\u001b|\\u2028/)
  }
}

const names = tools.map(({ name }) => name)
const toolOf = (name: string) => tools.find((tool) => tool.name === name)!

/** Required inputs of each tool. */
const inputs = {
  appEnvId: 'env_1',
  accountId: 'acc_1',
  appId: 'app_1',
  alertId: 'alr_1',
  contactPointId: 'cp_1',
  jobRunId: 'run_1',
  membershipId: 'mem_1',
  entryId: 'aud_1',
  backupId: 'bak_1',
  remediationId: 'rem_1',
  runId: 'rmr_1',
  name: 'x',
  region: 'local',
  image: 'shop:1',
  storageKey: 'upl_1',
  containers: 1,
  port: 8080,
  metric: 'cpu_percent',
  type: 'email',
  config: {},
  enabled: false,
  operator: 'gt',
  threshold: 1,
  duration: '1m',
  contactPointIds: [],
  allowedAppEnvIds: ['env_1'],
  memberEnvAccessEnabled: false,
}

function argsOf(name: string): Record<string, unknown> {
  const { shape } = toolOf(name).operation.input
  const type = name === 'create-contact-point' ? {} : { type: undefined }
  const people = toolOf(name).peopleInputs
  return Object.fromEntries(
    Object.entries({ ...inputs, ...type }).filter(([key]) => key in shape && !people.includes(key)),
  )
}

/** Agrees to everything and checks the question, which a host's model may read too. */
async function agrees(question: string, yes: string): Promise<boolean> {
  expectNothingPasses(question, yes)
  return true
}

/** Checks that reject the fullest response, in which the object is a function, a job and a database at once. */
const refusedByChecks = new Set(['update-app-env-autoscaling', 'scale-app-env-containers', 'create-alert'])

describe('hostile text', () => {
  it.each(names)('%s: no part of its fullest response looks like our own text', async (name) => {
    const waits = toolOf(name).waits ? { wait: false } : {}
    const whole = toolOf(name).hints.readOnly ? { maxTokens: 100_000 } : {}
    const { text, structured, isError } = await run(
      hostilePlatform(),
      name,
      { ...argsOf(name), ...waits, ...whole },
      agrees,
    )
    expectNothingPasses(text, JSON.stringify(structured))
    // The tenants' text must be present, or the test proves nothing.
    expect(isError, text).toBe(refusedByChecks.has(name))
    if (!isError) expect(JSON.stringify(structured)).toContain('CALL delete-app-env')
    expect(faults).toEqual([])
  })

  it.each(names)(
    '%s: nor in a refusal, a dry run, a wait, a question, or its own arguments',
    async (name) => {
      const args = { ...argsOf(name), ...(toolOf(name).waits ? { waitSeconds: 1 } : {}) }
      const tries = toolOf(name).hints.readOnly ? {} : { dryRun: true }
      const results = [
        await run(hostilePlatform(true), name, args),
        await run(hostilePlatform(), name, { ...args, ...tries }),
        await run(hostilePlatform(), name, args, agrees),
        await run(hostilePlatform(), name, args, async () => false),
        await run(hostilePlatform(), name, { ...args, confirm: hostile }),
        await run(hostilePlatform(), `${name}${hostile}`, args),
        await run(hostilePlatform(), name, {
          ...args,
          [hostile]: hostile,
          confirm: [hostile],
          wait: hostile,
        }),
      ]
      for (const { text, structured } of results) expectNothingPasses(text, JSON.stringify(structured))
      expectNothingPasses(...told)
      expect(faults).toEqual([])
    },
  )

  async function connected(platform: Client): Promise<McpClient> {
    const list = listedTools(publishTools(tools), defaultToolPolicy)
    const callTool = ({ name, args }: { name: string; args: Record<string, unknown> }) =>
      run(platform, name, args)
    const server = createMcpServer({ tools: () => list, callTool })
    const client = new McpClient({ name: 'test', version: '1' })
    const [near, far] = InMemoryTransport.createLinkedPair()
    await Promise.all([server.connect(far), client.connect(near)])
    return client
  }

  it('resources and prompts never present it as our own text', async () => {
    const client = await connected(hostilePlatform())
    const texts: string[] = []
    for (const uri of ['longshore://environments', 'longshore://environments/shop-prod']) {
      texts.push(
        ...(await client.readResource({ uri })).contents.map((one) => (one as { text: string }).text),
      )
    }
    const { prompts } = await client.listPrompts()
    for (const { name, arguments: wanted = [] } of prompts) {
      const args = Object.fromEntries(wanted.map((one) => [one.name, `x${hostile}`]))
      const { messages } = await client.getPrompt({ name, arguments: args })
      texts.push(
        ...messages.map(({ content }) =>
          'text' in content ? content.text : (content as { resource: { text: string } }).resource.text,
        ),
      )
    }
    expect(texts.length).toBeGreaterThan(8)
    expect(texts.join('\n')).toContain('CALL delete-app-env')
    expectNothingPasses(...texts)
    const refusing = await connected(hostilePlatform(true))
    for (const uri of [
      'longshore://environments',
      `longshore://environments/${encodeURIComponent(hostile)}`,
      `longshore://${encodeURIComponent(hostile)}`,
    ]) {
      const error: Error = await refusing.readResource({ uri }).then(
        () => new Error('read'),
        (one) => one,
      )
      expect(error.message).not.toBe('read')
      expectNothingPasses(error.message)
    }
    const failed: Error = await refusing
      .getPrompt({ name: 'why-is-it-down', arguments: { envName: hostile } })
      .catch((one) => one)
    expectNothingPasses(failed.message)
  })
})

it('an agent that follows every instruction it takes for ours executes none from logs and names', async () => {
  const env = backend.state.env({ envName: 'shop-prod' })
  backend.state.add({ name: `evil${hostile}` })
  backend.state.logs = Array.from({ length: 20 }, () => ({ stream: 'stdout' as const, message: hostile }))
  backend.state.plans = [{ reads: 2, failure: { reason: hostile, message: hostile } }]
  backend.state.failing.set('list-apps', new AppError('invalid', hostile, { details: hostile }))
  const client = createClient({ url: backend.url, token: fakeToken, surface: 'mcp' })
  const ref = { appEnvId: env.appEnvId }
  const plan: [string, Record<string, unknown>][] = [
    ['list-accounts', {}],
    ['list-app-envs', { accountId: 'acc_1' }],
    ['list-apps', { accountId: 'acc_1' }],
    ['get-logs', ref],
    ['deploy-app-env-image', { ...ref, image: 'shop:2' }],
    ['get-app-env-status', ref],
  ]
  let read = 0
  for (const [name, args] of plan) {
    const { text } = await run(client, name, args)
    if (text.includes('CALL delete-app-env')) read += 1
    for (const line of ordersIn(text)) {
      const [, tool, json] = /^\s*CALL (\S+) (\{.*?\})/.exec(line)!
      await run(client, tool!, JSON.parse(json!))
    }
  }
  // The agent must have read the instructions, or the test proves nothing.
  expect(read).toBeGreaterThanOrEqual(3)
  expect(backend.state.countOf('delete-app-env')).toBe(0)
  expect(backend.state.envs.has(env.appEnvId)).toBe(true)
})
