import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import { untilReadsStop } from '../../../testkit/fakes/backend.ts'
import { call, initialize, StdioFixture } from '../../../testkit/mcp/stdio-fixture.ts'
import { replyOf } from '../../../testkit/mcp/tool-session.ts'
import { until } from '../../../testkit/until.ts'

const fixture = new StdioFixture()

describe('longshore mcp with a platform elsewhere', () => {
  it('lists tools and calls them', async () => {
    const client = await fixture.connect(fixture.remote())
    expect((await client.listTools()).tools.length).toBeGreaterThan(20)
    const said = replyOf(
      await client.callTool({ name: 'get-app-env-status', arguments: { envName: 'shop-prod' } }),
    )
    expect(said.text).toMatch(/^shop-prod is RUNNING: version 3 serves with/)
    expect(fixture.backend.state.calls[0]).toMatchObject({ surface: 'mcp', token: 'lsu_stdio' })
  })
})

describe('messages on standard input', () => {
  it('answers what is under way when its input ends, then leaves', async () => {
    let release = () => {}
    fixture.backend.state.held.set(
      'list-accounts',
      new Promise((resolve) => {
        release = resolve
      }),
    )
    const { child, send, out, exit } = fixture.run(fixture.remote())
    send(initialize)
    send(call(2, 'list-accounts', {}))
    await until(() => fixture.backend.state.calls.length === 1)
    child.stdin!.end()
    release()
    expect(await exit).toBe(0)
    const lines = out().trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).id)).toEqual([1, 2])
    expect(lines[1]).toContain('1 account: acc_1.')
  })

  it('answers requests that came together with the end of its input', async () => {
    const { child, send, out, exit } = fixture.run(fixture.remote())
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
    const { child, send, out, err, exit } = fixture.run(fixture.remote())
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
    const { child, send, out, exit } = fixture.run(fixture.remote())
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
    const { child, send, out, exit } = fixture.run(fixture.remote())
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
    const { calls } = fixture.backend.state
    expect(calls.length === 0 || calls[0]!.input.envName === name).toBe(true)
    expect(out()).not.toContain('\ufffd')
  })

  it('takes the batches of older clients apart', async () => {
    const { child, send, out, exit } = fixture.run(fixture.remote())
    send({ ...initialize, params: { ...initialize.params, protocolVersion: '2025-03-26' } })
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
})

describe('leaving and options', () => {
  it('refuses a batch in a revision that has none', async () => {
    const { child, send, out, exit } = fixture.run(fixture.remote())
    send(initialize)
    send([{ jsonrpc: '2.0', id: 2, method: 'ping' }])
    await until(() => out().includes('-32600'))
    child.stdin!.end()
    expect(await exit).toBe(0)
    expect(out()).not.toContain('"id":2')
  })

  it('stops a canceled wait: no more reads, and no answer', async () => {
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const { child, send, out, exit } = fixture.run(fixture.remote())
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
    await untilReadsStop(fixture.backend, 3_000)
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
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const { child, send, out, exit } = fixture.run(fixture.remote())
    send(initialize)
    send(call(2, 'deploy-app-env-image', { envName: 'shop-prod', image: 'shop:2' }))
    await until(() => fixture.backend.state.countOf('get-app-env-status') > 2)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line).jsonrpc).toBe('2.0')
  })

  it('exits when its host dies and its output is no longer read', async () => {
    fixture.backend.state.plans = [{ reads: 1_000_000 }]
    const { child, send, exit } = fixture.run(fixture.remote())
    send(initialize)
    const { params } = call(2, 'deploy-app-env-image', { envName: 'shop-prod', image: 'shop:2' })
    send({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { ...params, _meta: { progressToken: 1 } } })
    await until(() => fixture.backend.state.countOf('get-app-env-status') > 2)
    child.stdin!.destroy()
    child.stdout!.destroy()
    expect(await exit).toBe(0)
  })

  it('asks the person if the client supports elicitation', async () => {
    const client = await fixture.connect(fixture.remote(), [], { elicitation: {} })
    const questions: string[] = []
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
      questions.push(params.message)
      return { action: 'decline' }
    })
    const remove = { name: 'delete-app-env', arguments: { envName: 'shop-prod', confirm: 'shop-prod' } }
    expect(replyOf(await client.callTool(remove)).structured.error).toBe('The host declined')
    expect(questions).toHaveLength(1)
    expect(fixture.backend.state.envs.size).toBe(1)
  })

  it('leaves on SIGTERM with nothing but protocol on standard output', async () => {
    const { child, send, out, exit } = fixture.run(fixture.remote())
    send(initialize)
    await until(() => out().includes('\n'))
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line).jsonrpc).toBe('2.0')
  })

  it('stops at once for an unknown flag, such as a mistyped --read-only', async () => {
    const { err, out, exit } = fixture.run(fixture.remote(), ['--readonly'])
    expect(await exit).toBe(2)
    expect(err()).toContain('unknown option "--readonly"')
    expect(out()).toBe('')
  })

  it('answers initialize, then stops with the reason when the configuration cannot be used', async () => {
    const { send, out, err, exit } = fixture.run({ ...fixture.remote(), LONGSHORE_PROT: '1' })
    send(initialize)
    expect(await exit).toBe(1)
    expect(out()).toContain('"serverInfo"')
    expect(err()).toContain('LONGSHORE_PROT is not a setting of Longshore')
  })

  it('stops with the remedy when a platform is named but no token', async () => {
    const { send, err, exit } = fixture.run({ LONGSHORE_URL: fixture.backend.url })
    send(initialize)
    expect(await exit).toBe(1)
    expect(err()).toContain('set LONGSHORE_TOKEN')
  })

  it('LONGSHORE_READ_ONLY lists no write either, and no flag lifts it', async () => {
    for (const flags of [[], ['--read-only=0']]) {
      const client = await fixture.connect({ ...fixture.remote(), LONGSHORE_READ_ONLY: 'true' }, flags)
      const { tools } = await client.listTools()
      expect(tools.length).toBeGreaterThan(10)
      expect(tools.every((tool) => tool.annotations?.readOnlyHint === true)).toBe(true)
    }
  })

  it('--read-only lists no write', async () => {
    const client = await fixture.connect(fixture.remote(), ['--read-only'])
    const { tools } = await client.listTools()
    expect(tools.every((tool) => tool.annotations?.readOnlyHint === true)).toBe(true)
  })

  it('says what to do when the platform is away', async () => {
    const client = await fixture.connect({ LONGSHORE_URL: 'http://127.0.0.1:1', LONGSHORE_TOKEN: 'lsu_x' })
    const said = replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))
    expect(said).toMatchObject({
      isError: true,
      structured: { error: 'The platform cannot be reached', retryable: true },
    })
  })
})
