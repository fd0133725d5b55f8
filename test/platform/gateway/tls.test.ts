import https from 'node:https'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { afterwards, appRoute, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until, untilRead } from '../../../testkit/until.ts'

const shop = makeCertificate('shop.example.com')
const renewed = makeCertificate('shop.example.com')
const others = makeCertificate('*.apps.example.com')

async function start() {
  const container = await upstream((request, response) => {
    if (request.url === '/slow') setTimeout(() => response.end('slow'), 500)
    else response.end(JSON.stringify(request.headers))
  })
  const route = appRoute([container.container('one')], {
    host: 'a.apps.example.com',
    domains: ['shop.example.com'],
  })
  const setup = await startGateway([route], { tlsPort: 0 })
  const set = async (...certificates: (typeof shop)[]) => {
    setup.link.setCertificates(certificates)
    await until(() => setup.gateway.tlsPort !== null, 'the TLS port')
  }
  return { ...setup, set, container }
}

/** A handshake; resolves to the names of the certificate. */
function handshake(port: number, servername: string, options: tls.ConnectionOptions = {}) {
  return new Promise<{ names: string | undefined; protocol: string | null; socket: tls.TLSSocket }>(
    (resolve, reject) => {
      const socket = tls.connect({
        port,
        host: '127.0.0.1',
        servername,
        rejectUnauthorized: false,
        ...options,
      })
      afterwards(() => socket.destroy())
      socket.once('error', reject)
      socket.once('secureConnect', () =>
        resolve({
          names: socket.getPeerCertificate().subjectaltname,
          protocol: socket.getProtocol(),
          socket,
        }),
      )
    },
  )
}

function get(port: number, host: string, path = '/', agent?: https.Agent) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const options = { port, host: '127.0.0.1', servername: host, path, rejectUnauthorized: false }
    const request = https.get({ ...options, headers: { host }, agent: agent ?? false }, (response) => {
      let body = ''
      response.on('data', (piece) => {
        body += piece
      })
      response.on('end', () => resolve({ status: response.statusCode!, body }))
    })
    request.on('error', reject)
  })
}

it('the TLS port opens with the first certificate, and serves each host with its own', async () => {
  const { gateway, set } = await start()
  expect(gateway.tlsPort).toBeNull()
  await set(shop, others)
  const port = gateway.tlsPort!
  expect((await handshake(port, 'shop.example.com')).names).toBe('DNS:shop.example.com')
  expect(await handshake(port, 'A.apps.example.com')).toMatchObject({
    names: 'DNS:*.apps.example.com',
    protocol: 'TLSv1.3',
  })
  await expect(handshake(port, 'other.example.com')).rejects.toThrow()
  await expect(handshake(port, 'a.b.apps.example.com')).rejects.toThrow()
  const answer = await get(port, 'shop.example.com')
  expect(JSON.parse(answer.body)).toMatchObject({
    host: 'shop.example.com',
    'x-forwarded-proto': 'https',
    'x-forwarded-for': '127.0.0.1',
  })
})

it('takes TLS 1.2 and 1.3 with forward secrecy, and nothing older', async () => {
  const { gateway, set } = await start()
  await set(shop)
  const port = gateway.tlsPort!
  const host = 'shop.example.com'
  expect((await handshake(port, host, { maxVersion: 'TLSv1.2' })).protocol).toBe('TLSv1.2')
  const weak = { maxVersion: 'TLSv1.1', minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await expect(handshake(port, host, weak)).rejects.toThrow()
  const cbc = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' } as const
  await expect(handshake(port, host, cbc)).rejects.toThrow()
})

it('a new certificate is used at once, and open connections go on', async () => {
  const { gateway, set } = await start()
  await set(shop)
  const port = gateway.tlsPort!
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1 })
  afterwards(() => agent.destroy())
  const fingerprint = async () => {
    const { socket } = await handshake(port, 'shop.example.com')
    return socket.getPeerCertificate().fingerprint256
  }
  const before = await fingerprint()
  await get(port, 'shop.example.com', '/', agent)
  const slow = get(port, 'shop.example.com', '/slow', agent)
  await set(renewed)
  await untilRead(fingerprint, (now) => now !== before, 'the new certificate')
  expect((await slow).body).toBe('slow')
})

it('a certificate that does not fit its key keeps its predecessor, and touches no other host', async () => {
  const { gateway, set } = await start()
  await set(shop)
  const port = gateway.tlsPort!
  const broken = { ...others, names: ['bad.example.com'], chain: 'nonsense' }
  await set({ ...renewed, key: others.key }, broken, others)
  await untilRead(
    () => handshake(port, 'a.apps.example.com'),
    () => true,
    'the good one',
  )
  expect((await handshake(port, 'shop.example.com')).names).toBe('DNS:shop.example.com')
  await expect(handshake(port, 'bad.example.com')).rejects.toThrow()
})

it('a gateway that exits lets a request over TLS end', async () => {
  const { gateway, set, container } = await start()
  await set(shop)
  const slow = get(gateway.tlsPort!, 'shop.example.com', '/slow')
  await until(() => container.now === 1, 'the request')
  gateway.shutdown('test')
  expect((await slow).body).toBe('slow')
  await gateway.closed
})
