import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { call, initialize, isAlive, StdioBed } from '../../../testkit/mcp/stdio-bed.ts'
import { replyOf } from '../../../testkit/mcp/tool-session.ts'
import { until } from '../../../testkit/until.ts'

const bed = new StdioBed()

describe('longshore mcp with the local installation', () => {
  const serving = () =>
    JSON.parse(readFileSync(path.join(bed.home, 'run', 'serve.json'), 'utf8')).pid as number

  it('answers initialize and every list before anything of the platform is there', async () => {
    const { child, send, out, exit } = bed.run(bed.local())
    send(initialize)
    const lists = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list']
    for (const [index, method] of lists.entries()) send({ jsonrpc: '2.0', id: index + 2, method })
    await until(() => out().split('\n').length > 1 + lists.length)
    expect(existsSync(path.join(bed.home, 'run', 'serve.json'))).toBe(false)
    for (const line of out().trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('result')
    child.stdin!.end()
    expect(await exit).toBe(0)
  })

  it('starts it, uses its admin token, and leaves it running for the next host', async () => {
    const client = await bed.connect(bed.local())
    const said = replyOf(await client.callTool({ name: 'get-app-env', arguments: { envName: 'shop-prod' } }))
    expect(said.text).toMatch(/^shop-prod is RUNNING/)
    const pid = serving()
    await client.close()
    const next = await bed.connect(bed.local())
    await next.callTool({ name: 'list-accounts', arguments: {} })
    expect(serving()).toBe(pid)
    expect(existsSync(path.join(bed.home, 'run', 'serve.log'))).toBe(true)
  })

  it('leaves it running when the host and all that the host started is killed', async () => {
    const { child, send, out } = bed.run(bed.local())
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
    writeFileSync(path.join(bed.home, 'refuse-to-serve'), 'no engine here')
    const { send, out, err } = bed.run(bed.local())
    send(initialize)
    send(call(2, 'list-accounts', {}))
    await until(() => out().includes('"id":2'))
    expect(out()).toContain('serve.log')
    expect(err()).toContain('no engine here')
  })

  it('shares one platform between two that start at once', async () => {
    const both = await Promise.all([bed.connect(bed.local()), bed.connect(bed.local())])
    const said = await Promise.all(
      both.map(async (client) => replyOf(await client.callTool({ name: 'list-accounts', arguments: {} }))),
    )
    expect(said.map((one) => one.isError)).toEqual([false, false])
  })

  it('brings the platform back when it was killed', async () => {
    const [owner, guest] = [await bed.connect(bed.local()), await bed.connect(bed.local())]
    await owner.callTool({ name: 'list-accounts', arguments: {} })
    await guest.callTool({ name: 'list-accounts', arguments: {} })
    const first = serving()
    // Both must continue when the process exits.
    process.kill(first, 'SIGKILL')
    await until(() => !isAlive(first))
    rmSync(path.join(bed.home, 'run'), { recursive: true, force: true })
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
