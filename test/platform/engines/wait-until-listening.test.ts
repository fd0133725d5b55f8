import net from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
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
