/**
 * The MCP side, medians side by side in one run. The platform behind it is a server that answers one
 * environment's status at once, in a process of its own:
 *
 * - spawn to `initialize` or `server/discover` and to `tools/list` on stdio, against `node -e 0`; resident
 *   memory then and after a call
 * - tokens of `tools/list`
 * - one call on stdio against the REST call it makes
 * - calls a second over HTTP in both eras, and memory of an idle session
 *
 *   npm run build && npm run bench -- mcp [runs]
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { Agent, createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { createClient } from '../src/client/client.ts'
import { systemClock } from '../src/clock.ts'
import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { createLog } from '../src/log.ts'
import { defaultToolPolicy } from '../src/mcp/policy/tool-policy.ts'
import { publishTools } from '../src/mcp/tools/publish.ts'
import { listedTools } from '../src/mcp/tools/published-tool.ts'
import { createMcpHttpHandler } from '../src/mcp/transport/http/handler.ts'
import { median } from '../testkit/figures.ts'
import { rpc2026 } from '../testkit/mcp/rpc-2026.ts'
import { tools } from '../tools/index.ts'
import { bareEnv, StdioSession } from './mcp/stdio-session.ts'

const status = JSON.stringify({
  appEnvId: 'env_1',
  status: 'RUNNING',
  currentContentId: 'dep_1',
  currentVersion: 3,
  currentDeployment: null,
  containers: { desired: 1, running: 1, ready: 1 },
  pendingChanges: { hasBuildChanges: false, hasDeployChanges: false, deployPendingChanges: [] },
  hosts: [],
})
async function main(runs: number): Promise<void> {
  const backend = await start(['backend'])
  const http = await start(['http', backend.url])
  try {
    await startFigures(runs, backend.url)
    tokenFigures()
    await callFigures(backend.url)
    await httpFigures(http.url)
  } finally {
    backend.child.kill()
    http.child.kill()
  }
}

function say(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(58)} ${value}\n`)
}

// --- start

async function startFigures(runs: number, backendUrl: string): Promise<void> {
  const bare: number[] = []
  const seen: Record<'initialize' | 'server/discover', StartFigures[]> = {
    initialize: [],
    'server/discover': [],
  }
  for (let run = -1; run < runs; run += 1) {
    const floor = await bareNode()
    const old = await startOnce(backendUrl, 'initialize', (_method, params) => params)
    const recent = await startOnce(backendUrl, 'server/discover', params2026)
    if (run < 0) continue // the first round only warms the disk
    bare.push(floor)
    seen.initialize.push(old)
    seen['server/discover'].push(recent)
  }
  const floor = median(bare)
  say('node -e 0', `${floor.toFixed(0)} ms`)
  for (const [greeting, figures] of Object.entries(seen)) {
    const hello = median(figures.map((one) => one.helloMs))
    const list = median(figures.map((one) => one.listMs))
    const mb = (of: (one: StartFigures) => number) => median(figures.map(of)).toFixed(0)
    say(`spawn to ${greeting}`, `${hello.toFixed(0)} ms = ${(hello / floor).toFixed(2)} x (goal 2.2)`)
    say('  then to tools/list', `${list.toFixed(0)} ms = ${(list / floor).toFixed(2)} x (goal 3.2)`)
    say('  resident after tools/list', `${mb((one) => one.listMb)} MiB (goal 60)`)
    say('  resident after the first call', `${mb((one) => one.callMb)} MiB (goal 90)`)
  }
}

type Params = Record<string, unknown>

/** The parameters of a request of 2026-07-28, with its envelope. */
function params2026(method: string, params: Params): Params {
  return JSON.parse(rpc2026(method, params).body).params
}

function bareNode(): Promise<number> {
  const startedMs = performance.now()
  return new Promise((resolve) => {
    spawn(process.execPath, ['-e', '0'], { env: bareEnv }).once('exit', () =>
      resolve(performance.now() - startedMs),
    )
  })
}

interface StartFigures {
  helloMs: number
  listMs: number
  listMb: number
  callMb: number
}

async function startOnce(
  backendUrl: string,
  greeting: string,
  enveloped: (method: string, params: Params) => Params,
): Promise<StartFigures> {
  const startedMs = performance.now()
  const session = new StdioSession(backendUrl)
  const ask = (method: string, params: Params) => session.ask(method, enveloped(method, params))
  await ask(greeting, greeting === 'initialize' ? clientHello : {})
  const helloMs = performance.now() - startedMs
  await ask('tools/list', {})
  const listMs = performance.now() - startedMs
  const listMb = session.residentMb()
  await ask('tools/call', statusCall)
  const callMb = session.residentMb()
  session.end()
  return { helloMs, listMs, listMb, callMb }
}

const clientHello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
}
const statusCall = { name: 'get-app-env-status', arguments: { appEnvId: 'env_1' } }

// --- tokens

function tokenFigures(): void {
  const list = listedTools(publishTools(tools), defaultToolPolicy)
  const tokens = (value: unknown) => encode(JSON.stringify(value)).length
  const seen = tokens(list.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })))
  const withoutOutputs = tokens(list.map(({ outputSchema: _outputSchema, ...rest }) => rest))
  say('tools', String(list.length))
  say(
    'tokens of name, description, input',
    `${seen} = ${(seen / list.length).toFixed(0)} a tool (goal 150; o200k)`,
  )
  say('tokens of the list without output schemas', `${withoutOutputs} (goal 8,000)`)
  say('tokens of the list, everything', String(tokens(list)))
}

// --- one call

async function callFigures(backendUrl: string): Promise<void> {
  const rest = createClient({ url: backendUrl, token: 'lsu_bench', surface: 'mcp' })
  const session = new StdioSession(backendUrl)
  await session.ask('initialize', clientHello)
  const restMs: number[] = []
  const stdioMs: number[] = []
  for (let call = 0; call < 2_000; call += 1) {
    const first = performance.now()
    await rest.call(getAppEnvStatus, { appEnvId: 'env_1' })
    const second = performance.now()
    await session.ask('tools/call', statusCall)
    if (call < 200) continue
    restMs.push(second - first)
    stdioMs.push(performance.now() - second)
  }
  session.end()
  const [floor, call] = [median(restMs), median(stdioMs)]
  say('REST call, p50', `${floor.toFixed(2)} ms`)
  say(
    'the same as a tool call on stdio, p50',
    `${call.toFixed(2)} ms, +${(call - floor).toFixed(2)} (goal +1)`,
  )
}

// --- HTTP

async function httpFigures(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 32 })
  const old = { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: statusCall }) }
  for (const [era, call] of [
    ['2025', old],
    ['2026', rpc2026('tools/call', statusCall)],
  ] as const) {
    await load(agent, `${url}/mcp`, call, 500)
    const calls = 5_000
    const startedMs = performance.now()
    await load(agent, `${url}/mcp`, call, calls)
    const perSecond = calls / ((performance.now() - startedMs) / 1000)
    say(`calls a second over HTTP, ${era}, 32 connections`, `${perSecond.toFixed(0)} (goal 600)`)
  }
  const hello = { ...clientHello, capabilities: { elicitation: {} } }
  const initialize = {
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello }),
  }
  const before = await heapOf(url)
  await load(agent, `${url}/mcp`, initialize, 500)
  const after = await heapOf(url)
  say('an idle session', `${((after - before) / 500 / 1024).toFixed(1)} KiB (goal 150)`)
  agent.destroy()
}

interface Posted {
  body: string
  headers?: Record<string, string>
}

async function load(agent: Agent, url: string, posted: Posted, calls: number): Promise<void> {
  let left = calls
  const worker = async () => {
    while (left > 0) {
      left -= 1
      await post(agent, url, posted)
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}

function post(agent: Agent, url: string, { body, headers: own }: Posted): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: 'lsu_bench',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...own,
    }
    const req = request(url, { method: 'POST', agent, headers }, (res) => {
      let text = ''
      res.setEncoding('utf8').on('data', (chunk) => {
        text += chunk
      })
      res.once('end', () => (res.statusCode === 200 ? resolve(text) : reject(new Error(text))))
    })
    req.once('error', reject)
    req.end(body)
  })
}

async function heapOf(url: string): Promise<number> {
  return Number(await (await fetch(`${url}/heap`)).text())
}

async function serveHttp(backendUrl: string): Promise<void> {
  const handler = createMcpHttpHandler({
    registry: tools,
    apiUrl: () => backendUrl,
    log: createLog('bench', 'error'),
    clock: systemClock,
  })
  const server = createServer((req, res) => {
    if (req.url !== '/heap') return handler(req, res)
    globalThis.gc?.()
    res.end(String(process.memoryUsage().heapUsed))
  })
  await listen(server)
}

// --- processes of this bench

async function listen(server: ReturnType<typeof createServer>): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
}

function start(args: string[]): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ['--expose-gc', fileURLToPath(import.meta.url), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return new Promise((resolve) => {
    createInterface({ input: child.stdout! }).once('line', (url) => resolve({ child, url }))
  })
}

const [role = '15', backendUrl = ''] = process.argv.slice(2)

if (role === 'backend') {
  await listen(createServer((_req, res) => res.setHeader('content-type', 'application/json').end(status)))
} else if (role === 'http') {
  await serveHttp(backendUrl)
} else {
  await main(Number(role))
}
