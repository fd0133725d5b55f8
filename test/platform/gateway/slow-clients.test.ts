import type net from 'node:net'
import { describe, expect, it } from 'vitest'
import { appRoute, rawUpstream } from '../../../testkit/gateway/harness.ts'
import { gatewayOnTestClock } from '../../../testkit/gateway/on-test-clock.ts'
import { until } from '../../../testkit/until.ts'

/** Two of them fit into the gateway before it holds the container back. */
const piece = Buffer.alloc(7 * 1024, 'x')

const events = { headers: '', response: 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n' }
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n'
const webSocket = {
  headers: `${upgrade}Sec-WebSocket-Key: x\r\n`,
  response: `HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\n`,
}

/** A client of an app that has received the head of the response, and the other ends of both connections. */
async function connected({ headers, response }: { headers: string; response: string }) {
  let container: net.Socket | undefined
  const port = await rawUpstream((socket) => {
    container = socket
    socket.once('data', () => socket.write(response))
  })
  const { clock, connect } = await gatewayOnTestClock([
    appRoute([{ name: 'one', host: '127.0.0.1', port, draining: false }]),
  ])
  const { client, accepted } = await connect()
  client.socket.write(`GET / HTTP/1.1\r\nHost: a.app.localhost\r\n${headers}\r\n`)
  await until(() => client.text.endsWith('\r\n\r\n'), 'the head')
  return { clock, client, accepted, container: container! }
}

/** The container sends until the systems of both sides are full, and something waits in the gateway. */
async function fill({ client, accepted, container }: Awaited<ReturnType<typeof connected>>): Promise<void> {
  client.socket.pause()
  let bytes = accepted.bytesWritten
  while (accepted.writableLength < 2 * piece.length) {
    container.write(piece)
    bytes += piece.length
    await until(() => accepted.bytesWritten === bytes, 'a piece')
  }
}

/** The container has ended its response, and its client has not read the end yet. */
async function ended() {
  const all = await connected(events)
  await fill(all)
  all.container.end()
  await until(() => all.accepted.writableEnded, 'the end')
  return all
}

async function unread(what: typeof events) {
  const all = await connected(what)
  await fill(all)
  return all
}

describe('a client that reads slowly', () => {
  it('gets the whole end of a response without a length, which would look complete without it', async () => {
    const { clock, client, accepted } = await ended()
    const { bytesWritten } = accepted
    await clock.advance(50_000)
    expect(accepted.destroyed).toBe(false)
    client.socket.resume()
    await until(() => client.ended, 'the end')
    expect(client.bytes).toBe(bytesWritten)
    await until(() => accepted.destroyed, 'closed')
  })

  it('keeps its connection as long as it reads from time to time', async () => {
    const all = await connected(events)
    const { clock, client, accepted, container } = all
    for (let turn = 0; turn < 3; turn += 1) {
      await fill(all)
      await clock.advance(50_000)
      client.socket.resume()
      await until(() => accepted.writableLength === 0, 'what waited')
    }
    container.end()
    await until(() => client.ended, 'the end')
    expect(client.bytes).toBe(accepted.bytesWritten)
  })
})

describe('a client that reads nothing', () => {
  it.each([
    ['a response', () => unread(events)],
    ['the end of a response', ended],
    ['a WebSocket', () => unread(webSocket)],
  ])('loses its connection after 60 s in %s, by a reset, and so does the container', async (_what, start) => {
    const { clock, client, accepted, container } = await start()
    const { bytesWritten } = accepted
    await clock.advance(59_000)
    expect(accepted.destroyed).toBe(false)
    // The minute begins again if the system still took something at first.
    await clock.advance(62_000)
    expect(accepted.destroyed).toBe(true)
    await until(() => container.destroyed, 'the container')
    client.socket.resume()
    await until(() => client.closed, 'closed')
    // After an ordinary end the client would still receive what the system of the gateway held for it.
    expect(client.bytes).toBeLessThan(bytesWritten / 2)
  })

  it.each([
    ['server-sent events', events],
    ['WebSocket', webSocket],
  ])('keeps an idle connection for ever: %s', async (_what, kind) => {
    const { clock, client, container } = await connected(kind)
    client.socket.pause()
    for (const event of ['one', 'two']) {
      container.write(event)
      await clock.advance(600_000)
      expect(client.closed || client.ended).toBe(false)
    }
    client.socket.resume()
    await until(() => client.text.endsWith('onetwo'), 'both events')
  })
})
