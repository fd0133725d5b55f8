import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { expect, it } from 'vitest'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { appRoute, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const request = 'GET / HTTP/1.1\r\nHost: a.app.localhost\r\nConnection: close\r\n\r\n'
const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')

/** A header of the PROXY protocol; `bytes` are addresses and ports. */
function header(versionAndCommand: number, family: number, bytes: number[]): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([signature, Buffer.from([versionAndCommand, family]), length, Buffer.from(bytes)])
}
const v4 = [203, 0, 113, 9, 10, 0, 0, 1, 200, 0, 1, 187]
const v6 = [...Buffer.from('20010db8000000000000000000000001', 'hex'), ...Array(16).fill(0), 1, 0, 1, 187]
const proxy = '127.0.0.2'

/** A gateway that trusts one proxy, and a container that answers with the client it sees. */
async function start() {
  const container = await upstream((incoming, response) =>
    response.end(String(incoming.headers['x-forwarded-for'])),
  )
  return startGateway([appRoute([container.container('one')])], {
    ...{ proxyProtocol: true, trustedProxies: [proxy], tlsPort: 0 },
  })
}

/** The whole answer to the pieces, sent one after the other. */
function answer(port: number, pieces: readonly (Buffer | string)[], localAddress = proxy): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect({ port, host: '127.0.0.1', localAddress }, async () => {
      for (const piece of pieces) {
        socket.write(piece)
        await new Promise((next) => setTimeout(next, 5))
      }
    })
    socket.on('data', (data) => {
      text += data
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
}

it.each([
  ['IPv4', header(0x21, 0x11, v4), '203.0.113.9'],
  ['IPv6', header(0x21, 0x21, v6), '2001:db8::1'],
  ['further fields', header(0x21, 0x11, [...v4, 4, 0, 2, 1, 2]), '203.0.113.9'],
  ['the proxy itself', header(0x20, 0, []), proxy],
])('proxy-protocol a trusted proxy names the client: %s', async (_name, head, client) => {
  const { port } = await start()
  expect(await answer(port, [Buffer.concat([head, Buffer.from(request)])])).toMatch(
    new RegExp(`\n${client}$`),
  )
  const bytes = [...head].map((byte) => Buffer.from([byte]))
  expect(await answer(port, [...bytes, request])).toMatch(new RegExp(`\n${client}$`))
})

it.each([
  ['no header', request],
  ['version 1', `PROXY TCP4 203.0.113.9 10.0.0.1 5 443\r\n${request}`],
  ['another version', Buffer.concat([header(0x31, 0x11, v4), Buffer.from(request)])],
  ['another command', Buffer.concat([header(0x22, 0x11, v4), Buffer.from(request)])],
  ['a length above the limit', Buffer.concat([signature, Buffer.from([0x21, 0x11, 0xff, 0xff])])],
])('proxy-protocol a connection of a trusted proxy without a header is closed: %s', async (_name, piece) => {
  const { port } = await start()
  expect(await answer(port, [piece])).toBe('')
})

it('proxy-protocol a stranger cannot name a client', async () => {
  const { port } = await start()
  expect(await answer(port, [request], '127.0.0.1')).toMatch(/\n127\.0\.0\.1$/)
  const forged = Buffer.concat([header(0x21, 0x11, v4), Buffer.from(request)])
  expect(await answer(port, [forged], '127.0.0.1')).toMatch(/^HTTP\/1\.1 400/)
})

it('proxy-protocol names the client of a TLS connection', async () => {
  const { gateway, link } = await start()
  link.setCertificates([makeCertificate('a.app.localhost')])
  await until(() => gateway.tlsPort !== null, 'the TLS port')
  const plain = connect({ port: gateway.tlsPort!, host: '127.0.0.1', localAddress: proxy })
  plain.write(header(0x21, 0x11, v4))
  const socket = connectTls({ socket: plain, servername: 'a.app.localhost', rejectUnauthorized: false })
  let text = ''
  socket.on('data', (data) => {
    text += data
  })
  socket.write(request)
  await until(() => text.endsWith('203.0.113.9'), 'the answer')
})
