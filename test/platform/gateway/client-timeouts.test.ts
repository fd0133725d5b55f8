import { describe, expect, it } from 'vitest'
import { functionRoute, upstream } from '../../../testkit/gateway/harness.ts'
import { gatewayOnTestClock } from '../../../testkit/gateway/on-test-clock.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

/** One gateway process on a clock that the test moves, with one client connected to it. */
async function connected() {
  const container = await upstream((request, response) => {
    request.resume().on('end', () => response.end('ok'))
  })
  const long = { timeoutSeconds: 3600, responseStartTimeoutSeconds: 3600 }
  const { clock, connect } = await gatewayOnTestClock([functionRoute([container.container('one')], long)])
  const { client, accepted } = await connect()
  let sent = 0
  /** Resolves when the gateway has read it. */
  const send = async (text: string) => {
    client.socket.write(text)
    sent += text.length
    await until(() => accepted.bytesRead === sent, 'read')
  }
  return { clock, client, container, send }
}

describe('a client that takes its time', () => {
  it('has 15 s for a head from its first byte on, however slowly it drips', async () => {
    const { clock, client, send } = await connected()
    await send('GET / HT')
    for (const more of ['TP/1.1\r\n', `Host: ${F}\r\n`]) {
      await clock.advance(7_400)
      await send(more)
    }
    expect(client.text).toBe('')
    await clock.advance(300)
    await until(() => client.closed, 'closed')
    expect(client.text).toMatch(/^HTTP\/1\.1 408 /)
  })

  it('loses a connection that it never used after 15 s, one between two requests after 75 s, without a word', async () => {
    const { clock, client } = await connected()
    await clock.advance(14_800)
    expect(client.ended).toBe(false)
    await clock.advance(300)
    await until(() => client.ended, 'ended')
    expect(client.text).toBe('')
    const other = await connected()
    await other.send(`GET / HTTP/1.1\r\nHost: ${F}\r\n\r\n`)
    await until(() => other.client.text.endsWith('ok'), 'answered')
    const { text } = other.client
    await other.clock.advance(74_800)
    expect(other.client.ended).toBe(false)
    await other.clock.advance(300)
    await until(() => other.client.ended, 'ended')
    expect(other.client.text).toBe(text)
  })

  it('may pause for 60 s in a body, again and again, and no longer', async () => {
    const { clock, client, container, send } = await connected()
    await send(`POST / HTTP/1.1\r\nHost: ${F}\r\nContent-Length: 100\r\n\r\n`)
    await until(() => container.now === 1, 'begun')
    for (let piece = 0; piece < 3; piece += 1) {
      await clock.advance(59_800)
      await send('x')
    }
    expect(client.text).toBe('')
    await clock.advance(60_200)
    await until(() => client.closed || client.text !== '', 'answered')
    expect(client.text).toMatch(/^HTTP\/1\.1 408 /)
    await until(() => container.now === 0, 'the slot is free')
  })
})
