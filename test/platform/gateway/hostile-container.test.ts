import type net from 'node:net'
import { describe, expect, it } from 'vitest'
import { functionRoute, rawConnection, rawUpstream, startGateway } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const host = 'f.fn.localhost'
const ask = `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`

/** A gateway before a container that answers each request with these bytes. */
async function gatewayTo(answer: (socket: net.Socket, request: number) => void): Promise<number> {
  const port = await rawUpstream((socket) => {
    let requests = 0
    socket.on('data', (piece) => {
      for (const _ of piece.toString('latin1').matchAll(/\r\n\r\n/g)) {
        requests += 1
        answer(socket, requests)
      }
    })
  })
  const route = functionRoute([{ name: 'one', host: '127.0.0.1', port }] as never)
  return (await startGateway([route])).port
}

/** What a container may send that is no answer, or could be read as two: the client gets 502 and a sound connection. */
const refused: Record<string, string> = {
  'no HTTP': 'hello\r\n\r\n',
  'another version': 'HTTP/2.0 200 OK\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
  'bare line feeds': 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok\r\n\r\n',
  'a NUL in a value': 'HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n',
  'a line that goes on': 'HTTP/1.1 200 OK\r\nX: a\r\n b: c\r\n\r\n',
  'a space before the colon': 'HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello',
  'two lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 5\r\n\r\nhello',
  'a length and chunks':
    'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a negative length': 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
  'another coding': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
  'an upgrade nobody asked for':
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nfree',
  'an interim answer with a body':
    'HTTP/1.1 103 Early Hints\r\nContent-Length: 30\r\n\r\nHTTP/1.1 200 OK\r\n\r\n',
  'interim answers without end': 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n'.repeat(50),
  'a head without end': `HTTP/1.1 200 OK\r\n${'X: y\r\n'.repeat(40_000)}`,
}

describe('a hostile container', () => {
  it.each(Object.entries(refused))('%s is answered 502, and the connection goes on', async (_what, bytes) => {
    const port = await gatewayTo((socket, request) => {
      if (socket.writable)
        socket.write(request === 1 ? bytes : 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine', 'latin1')
    })
    const client = rawConnection(port)
    client.socket.write(ask)
    await until(() => /HTTP\/1\.1 502 /.test(client.text), 'a 502')
    expect(client.text).not.toMatch(/HTTP\/1\.1 (?:200|101)|free/)
    expect(client.text.match(/HTTP\/1\.1 103/g)?.length ?? 0).toBeLessThanOrEqual(20)
    client.socket.destroy()
  })

  it('cannot make the gateway keep what a client does not read', async () => {
    let sent = 0
    const port = await gatewayTo((socket) => {
      // As much as the gateway takes, for a client that reads nothing.
      const hint = `HTTP/1.1 103 Early Hints\r\nLink: ${'x'.repeat(8_000)}\r\n\r\n`
      const more = () => {
        while (!socket.destroyed && sent < 200_000_000) {
          sent += hint.length
          if (!socket.write(hint)) return socket.once('drain', more)
        }
      }
      more()
    })
    const client = rawConnection(port)
    client.socket.pause()
    client.socket.write(ask)
    await new Promise((resolve) => setTimeout(resolve, 500))
    client.socket.resume()
    await until(() => client.text.includes(' 502 '), 'a 502')
    expect(client.bytes).toBeLessThan(1_000_000)
    client.socket.destroy()
  })

  it('discards a second response to one request', async () => {
    const good = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n'
    const port = await gatewayTo((socket, request) => {
      socket.write(`${good}own${request % 10}${good}evil`)
    })
    const seen: string[] = []
    for (let client = 0; client < 10; client += 1) {
      const connection = rawConnection(port)
      connection.socket.write(ask)
      await until(() => /own\d/.test(connection.text), 'an answer')
      connection.socket.write(ask)
      await until(() => (connection.text.match(/own\d/g)?.length ?? 0) === 2, 'another answer')
      seen.push(connection.text)
      connection.socket.destroy()
    }
    expect(seen.join('')).not.toContain('evil')
  })

  it.each([
    [
      '204 with a length',
      'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello',
      /HTTP\/1\.1 204 No Content\r\n\r\n$/,
    ],
    [
      '304 with chunks',
      'HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
      /HTTP\/1\.1 304 Not Modified\r\n/,
    ],
    [
      'hop-by-hop headers',
      'HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Secret\r\nX-Secret: a\r\nKeep-Alive: timeout=9\r\nTE: x\r\nTrailer: y\r\nContent-Length: 0\r\n\r\n',
      /HTTP\/1\.1 200 OK\r\ncontent-length: 0\r\n\r\n$/i,
    ],
  ])('%s: what goes on is one answer', async (_what, bytes, wanted) => {
    const port = await gatewayTo((socket) => socket.write(bytes))
    const client = rawConnection(port)
    client.socket.write(ask)
    await until(() => /\r\n\r\n/.test(client.text), 'an answer')
    expect(client.text).toMatch(wanted)
    expect(client.text).not.toMatch(/hello|x-secret|keep-alive: timeout/i)
    client.socket.destroy()
  })
})
