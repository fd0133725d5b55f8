import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { waitUntilListening } from '../../../src/engines/wait-until-listening.ts'

const server = net.createServer()
let port = 0
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as net.AddressInfo).port
})
afterAll(() => void server.close())

const wait = (stillRunning: () => boolean) =>
  waitUntilListening({
    address: () => ({ host: '127.0.0.1', port }),
    stillRunning,
    timeoutMs: 5_000,
    clock: systemClock,
    signal: new AbortController().signal,
  })

describe('waiting until a container listens', () => {
  it('ends when its port answers', async () => {
    expect(await wait(() => true)).toBe('listening')
  })

  it('does not take somebody else on the port for a container that ended meanwhile', async () => {
    let looks = 0
    expect(await wait(() => ++looks === 1)).toBe('gone')
  })
})

describe('waiting through a proxy, which accepts before anything listens', () => {
  /** Closes each connection after `refusesAfterMs` until the program listens, as the proxy of a busy machine does. */
  async function proxyThat(refusesAfterMs: () => number): Promise<{ port: number; listens: () => void }> {
    let listening = false
    const proxy = net.createServer((socket) => {
      socket.on('error', () => {})
      if (!listening) setTimeout(() => socket.destroy(), refusesAfterMs())
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void proxy.close())
    return { port: (proxy.address() as net.AddressInfo).port, listens: () => (listening = true) }
  }

  it.each([
    ['a slow first refusal', () => 150],
    [
      'refusals that become slower',
      (
        (refusals: number) => () =>
          10 * 3 ** Math.min(++refusals, 4)
      )(0),
    ],
  ])('is not misled by %s', async (_case, refusesAfterMs) => {
    const { port, listens } = await proxyThat(refusesAfterMs)
    let outcome: string | null = null
    const waiting = waitUntilListening({
      address: () => ({ host: '127.0.0.1', port, proxied: true }),
      stillRunning: () => true,
      timeoutMs: 20_000,
      clock: systemClock,
      signal: new AbortController().signal,
    }).then((result) => (outcome = result))
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    expect(outcome).toBeNull()
    listens()
    expect(await waiting).toBe('listening')
  })
})
