import https from 'node:https'
import net from 'node:net'
import tls from 'node:tls'
import { expect, it } from 'vitest'
import type { Certificate, Route } from '../../../src/gateway/control/protocol.ts'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { afterwards, appRoute, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until, untilRead } from '../../../testkit/until.ts'

const shop = makeCertificate('shop.example.com')

async function start(route: Partial<Route>, certificates: Certificate[] = [shop], trusted: string[] = []) {
  const container = await upstream((request, response) => {
    if (request.url === '/own') response.setHeader('strict-transport-security', 'max-age=1')
    response.end(`served ${request.headers.host}`)
  })
  const setup = await startGateway([appRoute([container.container('one')], route)], {
    tlsPort: 0,
    trustedProxies: trusted,
  })
  setup.link.setCertificates(certificates)
  await until(() => setup.gateway.tlsPort !== null, 'the TLS port')
  return setup
}

/** One request by http, as text. */
function ask(port: number, lines: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (piece) => {
      text += piece
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(text))
    socket.write(`${lines}\r\nconnection: close\r\n\r\n`)
  })
}

function secure(port: number, host: string, path = '/') {
  return new Promise<{ status: number; body: string; hsts: string | undefined }>((resolve, reject) => {
    const target = { port, host: '127.0.0.1', servername: host, path, headers: { host }, agent: false }
    const request = https.get({ ...target, rejectUnauthorized: false }, (response) => {
      let body = ''
      response.on('data', (piece) => {
        body += piece
      })
      const hsts = response.headers['strict-transport-security']
      response.on('end', () => resolve({ status: response.statusCode!, body, hsts }))
    })
    request.on('error', reject)
  })
}

const get = (host: string, path = '/', more = '') => `GET ${path} HTTP/1.1\r\nhost: ${host}${more}`

it('domain-redirect http of a domain with a certificate goes to https, and only that domain', async () => {
  const domains = ['shop.example.com', 'plain.example.com']
  const { port, gateway } = await start({
    domains,
    secure: { 'shop.example.com': { redirect: true, hsts: false } },
  })
  expect(await ask(port, get('shop.example.com', '/a?b=c'))).toMatch(
    /^HTTP\/1.1 308 .*\r\nlocation: https:\/\/shop\.example\.com\/a\?b=c\r\n/,
  )
  expect(await ask(port, get(`shop.example.com:${port}`))).toContain(
    `location: https://shop.example.com:${gateway.tlsPort}/\r\n`,
  )
  expect(await ask(port, get('shop.example.com:80'))).toContain('location: https://shop.example.com/\r\n')
  expect(await ask(port, get('plain.example.com'))).toContain('served plain.example.com')
  expect(await ask(port, get('shop.example.com', '/.well-known/acme-challenge/x'))).toContain('served')
  expect((await secure(gateway.tlsPort!, 'shop.example.com')).body).toBe('served shop.example.com')
})

it('domain-redirect a trusted proxy that took https is served; the same header of others is not believed', async () => {
  const route = {
    domains: ['shop.example.com'],
    secure: { 'shop.example.com': { redirect: true, hsts: true } },
  }
  const header = '\r\nx-forwarded-proto: https'
  const trusting = await start(route, [shop], ['loopback'])
  const served = await ask(trusting.port, get('shop.example.com', '/', header))
  expect(served).toContain('served')
  expect(served).toContain('strict-transport-security: max-age=31536000')
  const other = await start(route)
  expect(await ask(other.port, get('shop.example.com', '/', header))).toContain('308')
})

it('domain-hsts is sent by https only, unless the application sends its own', async () => {
  const { port, gateway } = await start({
    domains: ['shop.example.com'],
    secure: { 'shop.example.com': { redirect: false, hsts: true } },
  })
  expect(await ask(port, get('shop.example.com'))).not.toContain('strict-transport-security')
  expect((await secure(gateway.tlsPort!, 'shop.example.com')).hsts).toBe('max-age=31536000')
  expect((await secure(gateway.tlsPort!, 'shop.example.com', '/own')).hsts).toBe('max-age=1')
})

it('domain-wildcard stands for one label, and a domain of its own wins', async () => {
  const { port, link } = await start({ domains: ['*.example.com'] })
  const other = await upstream((_request, response) => response.end('own'))
  link.setRoute({
    ...appRoute([other.container('two')]),
    appEnvId: 'env_own',
    envName: 'own',
    domains: ['shop.example.com'],
  })
  await untilRead(
    () => ask(port, get('shop.example.com')),
    (text) => text.includes('own'),
    'the second route',
  )
  expect(await ask(port, get('a.example.com'))).toContain('served a.example.com')
  expect(await ask(port, get('a.b.example.com'))).toMatch(/^HTTP\/1.1 404/)
  expect(await ask(port, get('example.com'))).toMatch(/^HTTP\/1.1 404/)
})

it('domain-isolation a certificate that cannot be used takes no other host with it', async () => {
  const other = makeCertificate('other.example.com')
  const broken = { ...makeCertificate('bad.example.com'), key: other.key }
  const { gateway } = await start({ domains: ['shop.example.com', 'other.example.com'] }, [
    broken,
    other,
    shop,
  ])
  expect((await secure(gateway.tlsPort!, 'shop.example.com')).status).toBe(200)
  expect((await secure(gateway.tlsPort!, 'other.example.com')).status).toBe(200)
  await expect(secure(gateway.tlsPort!, 'bad.example.com')).rejects.toThrow()
})

it('challenges of a certificate authority are answered for their host alone, before any redirect', async () => {
  const { port, link, gateway } = await start({
    domains: ['shop.example.com'],
    secure: { 'shop.example.com': { redirect: true, hsts: false } },
  })
  const proof = makeCertificate('new.example.com')
  link.setChallenges([
    { type: 'http-01', domain: 'shop.example.com', token: 'tok', keyAuthorization: 'tok.thumb' },
    { type: 'tls-alpn-01', domain: 'new.example.com', chain: proof.chain, key: proof.key },
  ])
  const path = '/.well-known/acme-challenge/tok'
  await untilRead(
    () => ask(port, get('shop.example.com', path)),
    (text) => text.endsWith('tok.thumb'),
    'the answer',
  )
  expect(await ask(port, get('other.example.com', path))).toMatch(/^HTTP\/1.1 404/)
  const names = (servername: string, ALPNProtocols: string[]) =>
    new Promise<unknown>((resolve, reject) => {
      const options = { port: gateway.tlsPort!, servername, ALPNProtocols, rejectUnauthorized: false }
      const socket = tls.connect(options, () =>
        resolve([socket.alpnProtocol, socket.getPeerCertificate().subjectaltname]),
      )
      afterwards(() => socket.destroy())
      socket.on('error', reject)
    })
  expect(await names('new.example.com', ['acme-tls/1'])).toEqual(['acme-tls/1', 'DNS:new.example.com'])
  expect(await names('shop.example.com', ['http/1.1'])).toEqual(['http/1.1', 'DNS:shop.example.com'])
  await expect(names('new.example.com', ['http/1.1'])).rejects.toThrow()
  link.setChallenges([])
  await untilRead(
    () => ask(port, get('shop.example.com', path)),
    (text) => !text.includes('tok.thumb'),
    'its end',
  )
})
