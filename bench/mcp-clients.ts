/**
 * 64 agents at once against the real control plane over Streamable HTTP, each with a token and an environment
 * of its own, all with the same request ids in the same order: no answer may reach another one (M7).
 *
 * - Half of the clients send requests of 2026-07-28; of the others, every second one keeps a session and
 *   supports elicitation.
 * - One client keeps sending cancellations of the ids of all clients.
 *
 *   npm run build && npm run bench -- mcp-clients [calls] [clients]
 *       10,000 and 64 by default
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'undici'
import { createAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { addMember } from '../src/contract/members.ts'
import { rpc2026 } from '../testkit/mcp/rpc-2026.ts'
import { Installation } from '../testkit/platform/installation.ts'

const calls = Number(process.argv[2] ?? 10_000)
const clients = Number(process.argv[3] ?? 64)
const callsOfEach = Math.ceil(calls / clients)

const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
const agent = new Agent({ connections: clients + 1, pipelining: 1 })

interface Caller {
  token: string
  appEnvId: string
  envName: string
  session: string | null
  asks: boolean
  is2026: boolean
}

interface Rpc {
  id?: number
  result?: { isError?: boolean; structuredContent?: { appEnvId?: string; cliEnvName?: string } }
  error?: unknown
}

const tools = ['get-app-env-status', 'get-app-env', 'get-app-env-pods'] as const
const tookMs: number[] = []
const crossed: string[] = []
const failed: string[] = []

interface Message extends Record<string, unknown> {
  id?: number
  method: string
  params: Record<string, unknown>
}

async function send(caller: Caller, message: Message): Promise<{ status: number; rpc: Rpc | null }> {
  const { id = 0, method, params } = message
  const posted = caller.is2026
    ? rpc2026(method, params, { id })
    : { headers: {}, body: JSON.stringify({ jsonrpc: '2.0', ...message }) }
  const { statusCode, headers, body } = await request(installation.ready.mcp, {
    method: 'POST',
    dispatcher: agent,
    headers: {
      authorization: `Bearer ${caller.token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(caller.session === null ? {} : { 'mcp-session-id': caller.session }),
      ...posted.headers,
    },
    body: posted.body,
  })
  const text = await body.text()
  if (typeof headers['mcp-session-id'] === 'string') caller.session = headers['mcp-session-id']
  return { status: statusCode, rpc: rpcOf(text) }
}

/** A JSON answer, or the last event with data of a stream. */
function rpcOf(text: string): Rpc | null {
  if (text.startsWith('{')) return JSON.parse(text)
  const data = text.split('\n').filter((line) => line.startsWith('data: {'))
  const last = data.at(-1)
  return last === undefined ? null : JSON.parse(last.slice('data: '.length))
}

async function makeCallers(): Promise<Caller[]> {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { accountId, name: 'agents', port: 8080 })
  const callers: Caller[] = []
  for (let index = 0; index < clients; index += 1) {
    const envName = `agent-${index}`
    const environment = { accountId, appId, name: envName, cliEnvName: envName, region: 'local' }
    const { appEnvId } = await client.call(createAppEnv, environment)
    const member = { accountId, email: `${envName}@example.com`, name: envName }
    const { token } = await client.call(addMember, member)
    callers.push({
      token: token!,
      appEnvId,
      envName,
      session: null,
      asks: index % 4 === 0,
      is2026: index % 2 === 1,
    })
  }
  return callers
}

async function greet(caller: Caller): Promise<void> {
  const { asks, is2026 } = caller
  if (is2026) return
  const { status } = await send(caller, {
    id: 0,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: asks ? { elicitation: {} } : {},
      clientInfo: { name: 'bench', version: '1' },
    },
  })
  if (status !== 200 || asks !== (caller.session !== null)) throw new Error(`initialize: ${status}`)
}

async function callAll(caller: Caller): Promise<void> {
  for (let id = 1; id <= callsOfEach; id += 1) {
    const name = tools[id % tools.length]
    const startedMs = performance.now()
    const { status, rpc } = await send(caller, {
      id,
      method: 'tools/call',
      params: { name, arguments: { envName: caller.envName } },
    })
    tookMs.push(performance.now() - startedMs)
    const answer = rpc?.result?.structuredContent
    if (status !== 200 || rpc?.result === undefined || rpc.result.isError === true) {
      failed.push(`${caller.envName} ${name} ${id}: ${status} ${JSON.stringify(rpc)?.slice(0, 200)}`)
    } else if (rpc.id !== id || answer?.appEnvId !== caller.appEnvId) {
      crossed.push(`${caller.envName} ${name} ${id}: got ${rpc.id}, ${answer?.appEnvId}`)
    }
  }
}

/** Cancels every id repeatedly as a separate caller, which must not affect the others. */
async function meddle(caller: Caller, over: () => boolean): Promise<number> {
  let sent = 0
  for (let id = 1; !over(); id = (id % callsOfEach) + 1) {
    await send(caller, { method: 'notifications/cancelled', params: { requestId: id } })
    sent += 1
  }
  return sent
}

function residentMb(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(text)![1]) / 1024
}

const say = (what: string, value: string) => process.stdout.write(`${what.padEnd(44)} ${value}\n`)

try {
  await installation.start()
  const { pid } = JSON.parse(readFileSync(`${installation.home}/run/serve.json`, 'utf8'))
  const callers = await makeCallers()
  for (const caller of callers) await greet(caller)
  const meddler: Caller = { ...callers[0]!, token: callers[1]!.token, session: null, asks: true }
  await greet(meddler)
  let over = false
  const meddling = meddle(meddler, () => over)
  const startedMs = performance.now()
  await Promise.all(callers.map(callAll))
  const seconds = (performance.now() - startedMs) / 1000
  over = true
  const cancellations = await meddling
  tookMs.sort((a, b) => a - b)
  const at = (share: number) => `${tookMs[Math.floor(tookMs.length * share)]!.toFixed(1)} ms`
  say('calls', `${tookMs.length} of ${clients} clients, ids 1 to ${callsOfEach} each`)
  say('answers that crossed', String(crossed.length))
  say('calls that failed', String(failed.length))
  say('cancellations of the same ids by another', String(cancellations))
  say('calls a second', (tookMs.length / seconds).toFixed(0))
  say('p50, p99', `${at(0.5)}, ${at(0.99)}`)
  say('resident memory of the control plane', `${residentMb(pid).toFixed(0)} MB`)
  for (const line of [...crossed, ...failed].slice(0, 10)) say('', line)
  process.exitCode = crossed.length + failed.length === 0 ? 0 : 1
} finally {
  await agent.close()
  await installation.dispose()
}
