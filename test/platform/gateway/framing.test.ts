import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChunkScanner } from '../../../src/gateway/http/chunk-scanner.ts'
import { functionRoute, rawConnection, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const host = 'Host: f.fn.localhost\r\n'

/** Requests that two servers could read in two ways, or that are no requests: each must be refused, never passed on. */
const refused: Record<string, { bytes: string; status: number }> = {
  'both lengths': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    status: 400,
  },
  'both lengths, the other way round': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n`,
    status: 400,
  },
  'two differing Content-Length': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde`,
    status: 400,
  },
  'two equal Content-Length': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd`,
    status: 400,
  },
  'a list as Content-Length': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: 4, 4\r\n\r\nabcd`,
    status: 400,
  },
  'a signed Content-Length': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: +4\r\n\r\nabcd`,
    status: 400,
  },
  'a hexadecimal Content-Length': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: 0x4\r\n\r\nab`,
    status: 400,
  },
  'a Content-Length with a strange space': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length: \xa04\r\n\r\nabcd`,
    status: 400,
  },
  'duplicate Host': { bytes: `GET / HTTP/1.1\r\n${host}Host: b.fn.localhost\r\n\r\n`, status: 400 },
  'the same Host twice': { bytes: `GET / HTTP/1.1\r\n${host}${host}\r\n`, status: 400 },
  'no Host': { bytes: 'GET / HTTP/1.1\r\nAccept: */*\r\n\r\n', status: 400 },
  'an empty Host': { bytes: 'GET / HTTP/1.1\r\nHost: \r\n\r\n', status: 400 },
  'a Host with a path': { bytes: 'GET / HTTP/1.1\r\nHost: f.fn.localhost/x\r\n\r\n', status: 400 },
  'a Host with a user': { bytes: 'GET / HTTP/1.1\r\nHost: a@f.fn.localhost\r\n\r\n', status: 400 },
  'absolute form of another host': {
    bytes: `GET http://b.fn.localhost/ HTTP/1.1\r\n${host}\r\n`,
    status: 400,
  },
  'bad chunk size': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    status: 400,
  },
  'a chunk size with a prefix': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0x4\r\nabcd\r\n0\r\n\r\n`,
    status: 400,
  },
  'a chunk that ends with a bare line feed': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n4\nabcd\r\n0\r\n\r\n`,
    status: 400,
  },
  'a chunk longer than its size': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n4\r\nabcdef\r\n0\r\n\r\n`,
    status: 400,
  },
  'a trailer line without a colon': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\nHello\r\n\r\n`,
    status: 400,
  },
  'a trailer line without a name': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n: x\r\n\r\n`,
    status: 400,
  },
  'a trailer name with a space': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\nX-A : b\r\n\r\n`,
    status: 400,
  },
  'a folded trailer': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\r\n c\r\n\r\n`,
    status: 400,
  },
  'another transfer coding': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
    status: 400,
  },
  'a disguised transfer coding': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`,
    status: 400,
  },
  'Transfer-Encoding twice': {
    bytes: `POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n`,
    status: 400,
  },
  'Transfer-Encoding in HTTP/1.0': {
    bytes: `POST / HTTP/1.0\r\n${host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    status: 400,
  },
  'a space before the colon': {
    bytes: `POST / HTTP/1.1\r\n${host}Content-Length : 4\r\n\r\nabcd`,
    status: 400,
  },
  'a folded line': { bytes: `GET / HTTP/1.1\r\n${host}X-A: b\r\n c\r\n\r\n`, status: 400 },
  'a bare carriage return': { bytes: `GET / HTTP/1.1\r\n${host}X-A: b\rX-B: c\r\n\r\n`, status: 400 },
  'a bare line feed': { bytes: `GET / HTTP/1.1\r\n${host}X-A: b\nX-B: c\r\n\r\n`, status: 400 },
  'a NUL': { bytes: `GET / HTTP/1.1\r\n${host}X-A: b\0\r\n\r\n`, status: 400 },
  'a header without a colon': { bytes: `GET / HTTP/1.1\r\n${host}Hello\r\n\r\n`, status: 400 },
  'a header without a name': { bytes: `GET / HTTP/1.1\r\n${host}: x\r\n\r\n`, status: 400 },
  'a space in the target': { bytes: `GET /a b HTTP/1.1\r\n${host}\r\n`, status: 400 },
  'no version': { bytes: `GET /\r\n${host}\r\n`, status: 400 },
  'no HTTP at all': { bytes: 'hello\n', status: 400 },
  'a relative target': { bytes: `GET x HTTP/1.1\r\n${host}\r\n`, status: 400 },
  CONNECT: { bytes: `CONNECT f.fn.localhost:80 HTTP/1.1\r\n${host}\r\n`, status: 405 },
  'HTTP/2': { bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 505 },
  'an unknown expectation': { bytes: `POST / HTTP/1.1\r\n${host}Expect: cake\r\n\r\n`, status: 417 },
  'a head that is too large': { bytes: `GET / HTTP/1.1\r\n${host}X: ${'a'.repeat(40_000)}`, status: 431 },
}

describe('ambiguous and malformed requests', () => {
  it.each(Object.entries(refused))('refuses %s', async (_name, { bytes, status }) => {
    let passedOn = 0
    const container = await upstream((request, response) => {
      request.on('error', () => {})
      request.on('end', () => passedOn++)
      request.resume()
      request.on('end', () => response.end('ok'))
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const client = rawConnection(port)
    client.socket.write(bytes, 'latin1')
    await until(() => client.ended, 'end of the connection')
    expect(client.text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    const body = JSON.parse(client.text.slice(client.text.indexOf('\r\n\r\n') + 4))
    expect(Object.keys(body).sort()).toEqual(['details', 'error'])
    expect(passedOn).toBe(0)
  })

  it('takes a request in pieces of any size, and several at once', async () => {
    const container = await upstream((request, response) => {
      let body = ''
      request.on('data', (piece) => {
        body += piece
      })
      request.on('end', () => response.end(`${request.method} ${request.url} ${body};`))
    })
    const { port } = await startGateway([functionRoute([container.container('one')])])
    const bytes =
      `\r\nGET /1 HTTP/1.1\r\n${host}\r\n` +
      `POST /2 HTTP/1.1\r\n${host}Content-Length: 5\r\n\r\nhello` +
      `POST /3 HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: v\r\n\r\n` +
      `GET http://f.fn.localhost/4 HTTP/1.1\r\n${host}Connection: close\r\n\r\n`
    for (const size of [1, 7, 50, bytes.length]) {
      const client = rawConnection(port)
      for (let at = 0; at < bytes.length; at += size) {
        client.socket.write(bytes.slice(at, at + size), 'latin1')
        if (size < 50) await new Promise((resolve) => setImmediate(resolve))
      }
      await until(() => client.ended, `answers to pieces of ${size}`)
      const bodies = client.text.match(/(?:GET|POST) [^;]*;/g)
      expect(bodies).toEqual(['GET /1 ;', 'POST /2 hello;', 'POST /3 abcde;', 'GET /4 ;'])
    }
  })

  it('finds the end of a chunked body however it is cut', () => {
    const chunks = fc.array(fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }), {
      maxLength: 8,
    })
    fc.assert(
      fc.property(chunks, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (pieces, cuts) => {
        const coded = Buffer.from(
          `${pieces.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')}0\r\n\r\nNEXT`,
          'latin1',
        )
        const scanner = new ChunkScanner()
        let data = ''
        let position = 0
        for (let turn = 0; !scanner.done; turn++) {
          const piece = coded.subarray(position, position + cuts[turn % cuts.length]!)
          position += scanner.scan(piece, 0, (from, to) => {
            data += piece.toString('latin1', from, to)
          })
        }
        expect(data).toBe(pieces.join(''))
        expect(coded.subarray(position).toString()).toBe('NEXT')
      }),
    )
  })
})
