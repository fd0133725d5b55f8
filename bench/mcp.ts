/**
 * The MCP side, medians side by side in one run:
 *   spawn to `initialize` and to `tools/list` on stdio, against `node -e 0`; resident memory then and after a call
 *   tokens of `tools/list`
 *   one call on stdio against the REST call it makes
 *   calls a second over HTTP, and memory of an idle session
 * The platform behind it is a server that answers one environment's status at once, in a process of its own.
 *
 * Run: npm run bench -- mcp [runs]
 * after `npm run build`, whose dist/longshore.js is what gets measured.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
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
import { createMcpHttpHandler } from '../src/mcp/transport/http.ts'
import { tools } from '../tools/index.ts'

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
const command = fileURLToPath(new URL('../longshore.js', import.meta.url))
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

function median(values: number[]): number {
  return [...values].sort((one, other) => one - other)[values.length >> 1]!
}

// --- start

async function startFigures(runs: number, backendUrl: string): Promise<void> {
  const bare: number[] = []
  const seen: StartFigures[] = []
  for (let run = -1; run < runs; run += 1) {
    const floor = await bareNode()
    const figures = await startOnce(backendUrl)
    if (run < 0) continue // the first pair only warms the disk
    bare.push(floor)
    seen.push(figures)
  }
  const floor = median(bare)
  const initialize = median(seen.map((one) => one.initializeMs))
  const list = median(seen.map((one) => one.listMs))
  say('node -e 0', `${floor.toFixed(0)} ms`)
  say('spawn to initialize', `${initialize.toFixed(0)} ms = ${(initialize / floor).toFixed(2)} x (goal 3.0)`)
  say('spawn to tools/list', `${list.toFixed(0)} ms = ${(list / floor).toFixed(2)} x (goal 3.2)`)
  say('resident after tools/list', `${median(seen.map((one) => one.listMb)).toFixed(0)} MiB (goal 60)`)
  say('resident after the first call', `${median(seen.map((one) => one.callMb)).toFixed(0)} MiB (goal 90)`)
}

// The same for both sides: some variables, such as NODE_EXTRA_CA_CERTS, cost a start 100 ms.
const bareEnv = { PATH: process.env.PATH }

function bareNode(): Promise<number> {
  const startedMs = performance.now()
  return new Promise((resolve) => {
    spawn(process.execPath, ['-e', '0'], { env: bareEnv }).once('exit', () =>
      resolve(performance.now() - startedMs),
    )
  })
}

interface StartFigures {
  initializeMs: number
  listMs: number
  listMb: number
  callMb: number
}

async function startOnce(backendUrl: string): Promise<StartFigures> {
  const startedMs = performance.now()
  const session = new StdioSession(backendUrl)
  await session.ask('initialize', clientHello)
  const initializeMs = performance.now() - startedMs
  await session.ask('tools/list', {})
  const listMs = performance.now() - startedMs
  const listMb = session.residentMb()
  await session.ask('tools/call', statusCall)
  const callMb = session.residentMb()
  session.end()
  return { initializeMs, listMs, listMb, callMb }
}

const clientHello = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
}
const statusCall = { name: 'get-app-env-status', arguments: { appEnvId: 'env_1' } }

/** The least a client can be, so that only the server is measured. */
class StdioSession {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, () => void>()
  #nextId = 1

  constructor(backendUrl: string) {
    this.#child = spawn(process.execPath, [command, 'mcp'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...bareEnv, LONGSHORE_URL: backendUrl, LONGSHORE_TOKEN: 'lsu_bench' },
    })
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const { id, error } = JSON.parse(line)
      if (error !== undefined) throw new Error(`the server answered ${JSON.stringify(error)}`)
      this.#waiting.get(id)?.()
      this.#waiting.delete(id)
    })
  }

  ask(method: string, params: unknown): Promise<void> {
    const id = this.#nextId++
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve)
      this.#child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    })
  }

  residentMb(): number {
    const text = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(text)![1]) / 1024
  }

  end(): void {
    this.#child.stdin!.end()
  }
}

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
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: statusCall })
  await load(agent, `${url}/mcp`, body, 500)
  const calls = 5_000
  const startedMs = performance.now()
  await load(agent, `${url}/mcp`, body, calls)
  const perSecond = calls / ((performance.now() - startedMs) / 1000)
  say('calls a second over HTTP, stateless, 32 connections', `${perSecond.toFixed(0)} (goal 600)`)
  const hello = { ...clientHello, capabilities: { elicitation: {} } }
  const initialize = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: hello })
  const before = await heapOf(url)
  await load(agent, `${url}/mcp`, initialize, 500)
  const after = await heapOf(url)
  say('an idle session', `${((after - before) / 500 / 1024).toFixed(1)} KiB (goal 150)`)
  agent.destroy()
}

async function load(agent: Agent, url: string, body: string, calls: number): Promise<void> {
  let left = calls
  const worker = async () => {
    while (left > 0) {
      left -= 1
      await post(agent, url, body)
    }
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}

function post(agent: Agent, url: string, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: 'lsu_bench',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
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
