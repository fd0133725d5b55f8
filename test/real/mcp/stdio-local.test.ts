import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { call, initialize, isAlive, StdioFixture } from '../../../testkit/mcp/stdio-fixture.ts'
import { replyOf } from '../../../testkit/mcp/tool-session.ts'
import { until } from '../../../testkit/until.ts'

const fixture = new StdioFixture()

describe('longshore mcp with the local installation', () => {
  const serving = () =>
    JSON.parse(readFileSync(path.join(fixture.home, 'run', 'serve.json'), 'utf8')).pid as number

  it('answers initialize and every list before anything of the platform is there', async () => {
    const { child, send, out, exit } = fixture.run(fixture.local())
    send(initialize)
    const lists = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']
    for (const [index, method] of lists.entries()) send({ jsonrpc: '2.0', id: index + 2, method })
    await until(() => out().split('\n').length > 1 + lists.length)
    expect(existsSync(path.join(fixture.home, 'run', 'serve.json'))).toBe(false)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('result')
    child.stdin!.end()
    expect(await exit).toBe(0)
  })

  it('starts it, makes a token of agents, and leaves it running for the next host', async () => {
    const client = await fixture.connect(fixture.local())
    const said = replyOf(await client.callTool({ name: 'get-app-env', arguments: { envName: 'shop-prod' } }))
    expect(said.text).toMatch(/^shop-prod is RUNNING/)
    const pid = serving()
    await client.close()
    const next = await fixture.connect(fixture.local())
    await next.callTool({ name: 'list-accounts', arguments: {} })
    expect(serving()).toBe(pid)
    expect(existsSync(path.join(fixture.home, 'run', 'serve.log'))).toBe(true)
  })

  it('leaves it running when the host and all that the host started is killed', async () => {
    const { child, send, out } = fixture.run(fixture.local())
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
    writeFileSync(path.join(fixture.home, 'refuse-to-serve'), 'no engine here')
    const { send, out, err } = fixture.run(fixture.local())
    send(initialize)
    send(call(2, 'list-accounts', {}))
    await until(() => out().includes('"id":2'))
    expect(out()).toContain('serve.log')
    expect(err()).toContain('no engine here')
  })

  it('shares one platform between two that start at once', async () => {
    const both = await Promise.all([fixture.connect(fixture.local()), fixture.connect(fixture.local())])
    const said = await Promise.all(
      both.map(async (client) => replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))),
    )
    expect(said.map((one) => one.isError)).toEqual([false, false])
  })

  it('brings the platform back when it was killed', async () => {
    const [owner, guest] = [await fixture.connect(fixture.local()), await fixture.connect(fixture.local())]
    await owner.callTool({ name: 'list-accounts', arguments: {} })
    await guest.callTool({ name: 'list-accounts', arguments: {} })
    const first = serving()
    // Both must continue when the process exits.
    process.kill(first, 'SIGKILL')
    await until(() => !isAlive(first))
    rmSync(path.join(fixture.home, 'run'), { recursive: true, force: true })
    for (const client of [owner, guest]) {
      const said = replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))
      expect(said.isError).toBe(false)
    }
    expect(serving()).not.toBe(first)
  })
})

/** The session a process belongs to; its own number for one that leads a session. */
function sessionOf(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[3])
}
