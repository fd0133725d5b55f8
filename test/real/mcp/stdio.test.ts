import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { type ClientCapabilities, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type FakeBackend, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { replyOf } from '../../../testkit/mcp/tool-session.ts'

let dist: string
let home: string
let command: string
let backend: FakeBackend
const children: ChildProcess[] = []
const clients: Client[] = []

beforeAll(() => {
  dist = mkdtempSync(path.join(os.tmpdir(), 'longshore-mcp-dist-'))
  // Packages that the bundle leaves out are found beside it.
  symlinkSync(path.resolve('node_modules'), path.join(dist, 'node_modules'))
  writeFileSync(path.join(dist, 'package.json'), '{"type":"module"}')
  execFileSync(process.execPath, ['build.mjs', path.join(dist, 'dist'), 'testkit/mcp/entry.ts'])
  command = path.join(dist, 'dist', 'longshore.js')
})
afterAll(() => rmSync(dist, { recursive: true, force: true }))

beforeEach(async () => {
  home = mkdtempSync(path.join(os.tmpdir(), 'longshore-mcp-'))
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  for (const child of children.splice(0)) child.kill('SIGKILL')
  endPlatform()
  await backend.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
})

/** A platform that `longshore mcp` started goes on without it. */
function endPlatform(): void {
  const file = path.join(home, 'run', 'lock')
  const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  if (pid > 0 && isAlive(pid)) process.kill(pid, 'SIGKILL')
}

const remote = () => ({ LONGSHORE_URL: backend.url, LONGSHORE_TOKEN: 'lsu_stdio' })
const local = () => ({ LONGSHORE_HOME: home })

async function connect(
  env: Record<string, string>,
  args: string[] = [],
  capabilities: ClientCapabilities = {},
): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  clients.push(client)
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [command, 'mcp', ...args],
      env: { PATH: process.env.PATH!, ...env },
      stderr: 'ignore',
    }),
  )
  return client
}

interface Run {
  child: ChildProcess
  send(message: unknown): void
  /** All output so far. */
  out(): string
  err(): string
  exit: Promise<number | null>
}

function run(env: Record<string, string>, args: string[] = []): Run {
  const child = spawn(process.execPath, [command, 'mcp', ...args], {
    env: { PATH: process.env.PATH!, ...env },
  })
  children.push(child)
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err += text
  })
  return {
    child,
    send: (message) => void child.stdin.write(`${JSON.stringify(message)}\n`),
    out: () => out,
    err: () => err,
    exit: new Promise((resolve) => child.once('close', (code) => resolve(code))),
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
}
const call = (id: number, name: string, args: unknown) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

describe('longshore mcp with a platform elsewhere', () => {
  it('lists tools and calls them', async () => {
    const client = await connect(remote())
    expect((await client.listTools()).tools.length).toBeGreaterThan(20)
    const said = replyOf(
      await client.callTool({ name: 'get-app-env-status', arguments: { envName: 'shop-prod' } }),
    )
    expect(said.text).toMatch(/^shop-prod is RUNNING at version 3\./)
    expect(backend.state.calls[0]).toMatchObject({ surface: 'mcp', token: 'lsu_stdio' })
  })

  it('answers what is under way when its input ends, then leaves', async () => {
    let release = () => {}
    backend.state.held.set(
      'list-accounts',
      new Promise((resolve) => {
        release = resolve
      }),
    )
    const { child, send, out, exit } = run(remote())
    send(initialize)
    send(call(2, 'list-accounts', {}))
    await until(() => backend.state.calls.length === 1)
    child.stdin!.end()
    release()
    expect(await exit).toBe(0)
    const lines = out().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2])
    expect(lines[1]).toContain('1 account: acc_1.')
  })

  it('answers requests that came together with the end of its input', async () => {
    const { child, send, out, exit } = run(remote())
    send(initialize)
    send({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
    child.stdin!.end()
    expect(await exit).toBe(0)
    expect(
      out()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([1, 2])
  })

  it('answers a line that is no message as JSON-RPC has it, and goes on', async () => {
    const { child, send, out, err, exit } = run(remote())
    child.stdin!.write('hello\n[]\n\n{"id":7,"method":"ping"}\n{"jsonrpc":"2.0","id":"x","method":5}\n')
    send(initialize)
    await until(() => out().split('\n').length > 5)
    child.stdin!.end()
    expect(await exit).toBe(0)
    const said = out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(said.map(({ id, error }) => [id, error?.code])).toEqual([
      [null, -32700],
      [null, -32600],
      [7, -32600],
      ['x', -32600],
      [1, undefined],
    ])
    expect(err().match(/Invalid message/g)).toHaveLength(4)
  })

  it('passes over a line of more than 16 MiB without keeping it, and goes on', async () => {
    const { child, send, out, exit } = run(remote())
    send(initialize)
    const part = Buffer.alloc(1024 * 1024, 'x')
    for (let mib = 0; mib < 17; mib += 1) {
      if (!child.stdin!.write(part)) await new Promise((resolve) => child.stdin!.once('drain', resolve))
    }
    child.stdin!.write('\n')
    send({ jsonrpc: '2.0', id: 2, method: 'ping' })
    await until(() => out().includes('"id":2'))
    child.stdin!.end()
    expect(await exit).toBe(0)
    const said = out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(said.map(({ id }) => id)).toEqual([1, null, 2])
    expect(said[1].error.message).toContain('16777216 bytes')
  })

  it('takes a call of some megabytes, cut anywhere on the way', async () => {
    const { child, send, out, exit } = run(remote())
    send(initialize)
    const name = 'ä€😀'.repeat(150_000)
    const bytes = Buffer.from(`${JSON.stringify(call(2, 'get-app-env', { envName: name }))}\n`)
    // Pieces that end in the middle of characters.
    for (let at = 0; at < bytes.length; at += 65_537) child.stdin!.write(bytes.subarray(at, at + 65_537))
    await until(() => out().includes('"id":2'))
    child.stdin!.end()
    expect(await exit).toBe(0)
    const said = JSON.parse(out().trimEnd().split('\n').at(-1)!)
    expect(said.result.isError).toBe(true)
    expect(backend.state.calls.length === 0 || backend.state.calls[0]!.input.envName === name).toBe(true)
    expect(out()).not.toContain('\ufffd')
  })

  it('takes the batches of older clients apart', async () => {
    const { child, send, out, exit } = run(remote())
    send(initialize)
    send([
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'ping' },
      call(3, 'list-accounts', {}),
    ])
    await until(() => out().includes('"id":3'))
    child.stdin!.end()
    expect(await exit).toBe(0)
    expect(
      out()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).id),
    ).toEqual([1, 2, 3])
  })

  it('stops a canceled wait: no more reads, and no answer', async () => {
    backend.state.plans = [{ reads: 1_000_000 }]
    const { child, send, out, exit } = run(remote())
    send(initialize)
    const { params } = call(2, 'deploy-app-env-image', { envName: 'shop-prod', image: 'shop:2' })
    send({
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { ...params, _meta: { progressToken: 'p' } },
    })
    await until(() => out().split('"progressToken":"p"').length > 2)
    send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 2 } })
    send(call(3, 'list-accounts', {}))
    await until(() => out().includes('"id":3'))
    const reads = () => backend.state.countOf('get-app-env-status')
    let seen = -1
    while (seen !== reads()) {
      seen = reads()
      await new Promise((resolve) => setTimeout(resolve, 3_000))
    }
    child.stdin!.end()
    expect(await exit).toBe(0)
    const said = out()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(said.some(({ id }) => id === 2)).toBe(false)
    const progress = said.flatMap(({ params }) => (params?.progressToken === 'p' ? [params.progress] : []))
    expect(progress).toEqual([...new Set(progress)].sort((one, other) => one - other))
  })

  it('leaves on SIGTERM during a wait, with nothing but protocol on standard output', async () => {
    backend.state.plans = [{ reads: 1_000_000 }]
    const { child, send, out, exit } = run(remote())
    send(initialize)
    send(call(2, 'deploy-app-env-image', { envName: 'shop-prod', image: 'shop:2' }))
    await until(() => backend.state.countOf('get-app-env-status') > 2)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line).jsonrpc).toBe('2.0')
  })

  it('exits when its host dies and its output is no longer read', async () => {
    backend.state.plans = [{ reads: 1_000_000 }]
    const { child, send, exit } = run(remote())
    send(initialize)
    const { params } = call(2, 'deploy-app-env-image', { envName: 'shop-prod', image: 'shop:2' })
    send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { ...params, _meta: { progressToken: 1 } } })
    await until(() => backend.state.countOf('get-app-env-status') > 2)
    child.stdin!.destroy()
    child.stdout!.destroy()
    expect(await exit).toBe(0)
  })

  it('asks the person if the client supports elicitation', async () => {
    const client = await connect(remote(), [], { elicitation: {} })
    const questions: string[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message)
      return { action: 'decline' }
    })
    const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod', confirm: 'shop-prod' } }
    expect(replyOf(await client.callTool(remove)).structured.error).toBe('The person did not agree')
    expect(questions).toHaveLength(1)
    expect(backend.state.envs.size).toBe(1)
  })

  it('leaves on SIGTERM with nothing but protocol on standard output', async () => {
    const { child, send, out, exit } = run(remote())
    send(initialize)
    await until(() => out().includes('\n'))
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line).jsonrpc).toBe('2.0')
  })

  it('stops at once for an unknown flag, such as a mistyped --read-only', async () => {
    const { err, out, exit } = run(remote(), ['--readonly'])
    expect(await exit).toBe(2)
    expect(err()).toContain('unknown option "--readonly"')
    expect(out()).toBe('')
  })

  it('answers initialize, then stops with the reason when the configuration cannot be used', async () => {
    const { send, out, err, exit } = run({ ...remote(), LONGSHORE_PROT: '1' })
    send(initialize)
    expect(await exit).toBe(1)
    expect(out()).toContain('"serverInfo"')
    expect(err()).toContain('LONGSHORE_PROT is not a setting of Longshore')
  })

  it('stops with the remedy when a platform is named but no token', async () => {
    const { send, err, exit } = run({ LONGSHORE_URL: backend.url })
    send(initialize)
    expect(await exit).toBe(1)
    expect(err()).toContain('set LONGSHORE_TOKEN')
  })

  it('--read-only lists no write', async () => {
    const client = await connect(remote(), ['--read-only'])
    const { tools } = await client.listTools()
    expect(tools.every((tool) => tool.annotations?.readOnlyHint === true)).toBe(true)
  })

  it('says what to do when the platform is away', async () => {
    const client = await connect({ LONGSHORE_URL: 'http://127.0.0.1:1', LONGSHORE_TOKEN: 'lsu_x' })
    const said = replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))
    expect(said).toMatchObject({
      isError: true,
      structured: { error: 'The platform cannot be reached', retryable: true },
    })
  })
})

describe('longshore mcp with the local installation', () => {
  const serving = () => JSON.parse(readFileSync(path.join(home, 'run', 'serve.json'), 'utf8')).pid as number

  it('answers initialize and every list before anything of the platform is there', async () => {
    const { child, send, out, exit } = run(local())
    send(initialize)
    const lists = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']
    for (const [index, method] of lists.entries()) send({ jsonrpc: '2.0', id: index + 2, method })
    await until(() => out().split('\n').length > 1 + lists.length)
    expect(existsSync(path.join(home, 'run', 'serve.json'))).toBe(false)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('result')
    child.stdin!.end()
    expect(await exit).toBe(0)
  })

  it('starts it, uses its admin token, and leaves it running for the next host', async () => {
    const client = await connect(local())
    const said = replyOf(await client.callTool({ name: 'get-app-env', arguments: { envName: 'shop-prod' } }))
    expect(said.text).toMatch(/^shop-prod is RUNNING/)
    const pid = serving()
    await client.close()
    const next = await connect(local())
    await next.callTool({ name: 'list-accounts', arguments: {} })
    expect(serving()).toBe(pid)
    expect(existsSync(path.join(home, 'run', 'serve.log'))).toBe(true)
  })

  it('leaves it running when the host and all that the host started is killed', async () => {
    const { child, send, out } = run(local())
    send(initialize)
    send(call(2, 'list-accounts', {}))
    await until(() => out().includes('"id":2'))
    const pid = serving()
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    // Another session: signals to the group and the terminal of the host do not reach it.
    expect(sessionOf(pid)).toBe(pid)
    expect(isAlive(pid)).toBe(true)
  })

  it('names the log and the reason when a platform cannot be started', async () => {
    writeFileSync(path.join(home, 'refuse-to-serve'), 'no engine here')
    const { send, out, err } = run(local())
    send(initialize)
    send(call(2, 'list-accounts', {}))
    await until(() => out().includes('"id":2'))
    expect(out()).toContain('serve.log')
    expect(err()).toContain('no engine here')
  })

  it('shares one platform between two that start at once', async () => {
    const both = await Promise.all([connect(local()), connect(local())])
    const said = await Promise.all(
      both.map(async (client) => replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))),
    )
    expect(said.map((one) => one.isError)).toEqual([false, false])
  })

  it('brings the platform back when it was killed', async () => {
    const [owner, guest] = [await connect(local()), await connect(local())]
    await owner.callTool({ name: 'list-accounts', arguments: {} })
    await guest.callTool({ name: 'list-accounts', arguments: {} })
    const first = serving()
    // Both must continue when the process exits.
    process.kill(first, 'SIGKILL')
    await until(() => !isAlive(first))
    rmSync(path.join(home, 'run'), { recursive: true, force: true })
    for (const client of [owner, guest]) {
      const said = replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))
      expect(said.isError).toBe(false)
    }
    expect(serving()).not.toBe(first)
  })
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The session a process belongs to; its own number for one that leads a session. */
function sessionOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3])
}
