import { createHash } from 'node:crypto'
import type http from 'node:http'
import { describe, expect, it } from 'vitest'
import {
  afterwards,
  functionRoute,
  get,
  rawConnection,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

describe('WebSockets', () => {
  /** A container that accepts WebSockets and echoes text frames, by hand. */
  async function echo() {
    const container = await upstream()
    const state = { open: 0 }
    container.server.on('upgrade', (request, socket) => {
      state.open++
      socket.on('close', () => state.open--)
      socket.on('error', () => {})
      socket.on('end', () => socket.end())
      const key = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
      )
      socket.on('data', (frame: Buffer) => {
        if ((frame[0]! & 15) === 8) return void socket.end(Buffer.from([0x88, 0]))
        const length = frame[1]! & 127
        const mask = frame.subarray(2, 6)
        const text = frame.subarray(6, 6 + length).map((byte, index) => byte ^ mask[index % 4]!)
        socket.write(Buffer.concat([Buffer.from([0x81, length]), text]))
      })
      afterwards(() => socket.destroy())
    })
    return { container, state }
  }

  it('carries a WebSocket, which holds its slot until it is closed', async () => {
    const { container, state } = await echo()
    const { port } = await startGateway([
      functionRoute([container.container('one')], {
        containerConcurrency: 1,
        maxScale: 1,
        timeoutSeconds: 1,
      }),
    ])
    const { WebSocket, Agent } = await import('undici')
    const dispatcher = new Agent({
      connect: { lookup: (_h, _o, done) => done(null, [{ address: '127.0.0.1', family: 4 }]) },
    })
    afterwards(() => dispatcher.destroy())
    const socket = new WebSocket(`ws://${F}:${port}/chat`, { dispatcher })
    const heard: string[] = []
    socket.onmessage = (event) => heard.push(String(event.data))
    await new Promise((resolve, reject) => {
      socket.onopen = resolve
      socket.onerror = reject
    })
    socket.send('one')
    await until(() => heard.length === 1)
    const waiting = get(port, F)
    socket.send('two')
    await until(() => heard.length === 2)
    expect(heard).toEqual(['one', 'two'])
    // The only slot is taken, longer than timeoutSeconds too: the other request times out in the queue.
    expect((await waiting).status).toBe(504)
    expect(state.open).toBe(1)
    socket.close()
    await until(() => state.open === 0, 'closed at the container')
    expect((await get(port, F)).status).toBe(200)
  })

  it('closes the container side when the client vanishes', async () => {
    const { container, state } = await echo()
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(
      `GET / HTTP/1.1\r\nHost: ${F}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n`,
    )
    await until(() => client.text.includes('101') && state.open === 1)
    client.socket.destroy()
    await until(() => state.open === 0)
  })

  it('upgrades to nothing else', async () => {
    let seen: http.IncomingHttpHeaders = {}
    const container = await upstream((request, response) => {
      seen = request.headers
      response.end('plain')
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(
      `GET / HTTP/1.1\r\nHost: ${F}\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n`,
    )
    await until(() => client.text.includes('plain'))
    expect(seen.upgrade).toBeUndefined()
    expect(seen['http2-settings']).toBeUndefined()
  })
})
