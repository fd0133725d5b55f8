import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkCertificate } from '../../../src/domain/domains/certificate.ts'
import { sampleCertificate } from '../../../testkit/api/sample-certificate.ts'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
let appEnvId: string
let count = 0
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
  appEnvId = (await platform.makeEnvironment()).appEnvId
})
afterAll(() => platform.close())

const send = (method: string, path: string, input: Record<string, unknown>, token = platform.admin.token) =>
  platform.request(method, path, { token, input: { appEnvId, ...input } })
const add = (input: Record<string, unknown>) => send('POST', '/app-env/domain', input)
const newName = () => `d${count++}.example.com`

it('domain-names adds a domain in ASCII that waits for its DNS, and lists it', async () => {
  const { status, json } = await add({ domain: 'Bücher.Example.com.' })
  expect(status).toBe(200)
  expect(json.domain).toEqual({
    domain: 'xn--bcher-kva.example.com',
    appEnvId,
    status: 'waiting-dns',
    dns: {
      expected: [{ type: 'A', name: 'xn--bcher-kva.example.com', value: '127.0.0.1' }],
      seen: [],
      checkedAt: null,
    },
    challenge: 'http-01',
    certificate: null,
    lastError: null,
    attempts: 0,
    redirect: true,
    hsts: false,
  })
  const list = await send('GET', '/app-env/domains', {})
  expect(list.json.domains).toContainEqual(json.domain)
})

it('certificate-challenges says that no certificate is ordered where no certificate authority is configured', async () => {
  const { json } = await add({ domain: newName() })
  expect(json.message).toMatch(/orders no certificates, because LONGSHORE_ACME_EMAIL is not set: upload one/)
})

it('domain-names refuses those of others', async () => {
  for (const domain of ['shop.app.localhost', 'co.uk', 'localhost', '10.0.0.1', 'аpple.com']) {
    const { status, json } = await add({ domain })
    expect([domain, status, typeof json.error]).toEqual([domain, 400, 'string'])
  }
})

it('domain-owner a domain belongs to one environment, whatever its spelling, until it is removed', async () => {
  const domain = newName()
  const other = (await platform.makeEnvironment()).appEnvId
  expect((await add({ domain })).status).toBe(200)
  for (const owner of [appEnvId, other]) {
    const again = await add({ appEnvId: owner, domain: `${domain.toUpperCase()}.` })
    expect(again.status).toBe(409)
  }
  const verify = await send('POST', '/app-env/domain/verify', { appEnvId: other, domain })
  expect(verify.status).toBe(404)
  const removed = await send('DELETE', '/app-env/domain', { domain })
  expect(removed.json.domain).toMatchObject({ domain, status: 'removed' })
  expect((await add({ appEnvId: other, domain })).status).toBe(200)
})

it('domain-owner a deleted environment gives its domains back', async () => {
  const domain = newName()
  const gone = (await platform.makeEnvironment()).appEnvId
  await add({ appEnvId: gone, domain })
  await send('DELETE', '/app-env', { appEnvId: gone })
  expect((await add({ domain })).status).toBe(200)
})

it('domain-wildcard needs dns-01, which needs the hook, or an uploaded certificate', async () => {
  expect((await add({ domain: '*.domains.example' })).json.error).toBe(
    'A wildcard needs the challenge dns-01',
  )
  const byDns = await add({ domain: '*.domains.example', challenge: 'dns-01' })
  expect(byDns.json.error).toBe('This installation cannot set TXT records')
  const uploaded = await add({ domain: '*.domains.example', certificate: sampleCertificate })
  expect(uploaded.json.domain.status).toBe('active')
})

it('uploaded-certificate is served, replaced, and never shown', async () => {
  const domain = newName()
  const certificate = makeCertificate(domain, 'www.example.com')
  const { json } = await add({ domain, certificate: { chain: certificate.chain, key: certificate.key } })
  expect(json.domain).toMatchObject({
    status: 'active',
    certificate: { source: 'uploaded', issuer: domain, names: [domain, 'www.example.com'], renewAt: null },
  })
  const { chain, key } = makeCertificate(domain)
  const next = await send('PUT', '/app-env/domain/certificate', { domain, certificate: { chain, key } })
  expect(next.json.domain.certificate.names).toEqual([domain])
  const secretLine = key.split('\n')[1]!
  const { accountId } = platform
  const audit = await platform.request('GET', '/audit', {
    token: platform.admin.token,
    input: { accountId, limit: 50 },
  })
  const list = await send('GET', '/app-env/domains', {})
  const rows = await platform.db.read((tx) => tx.selectFrom('domains').selectAll().execute())
  for (const text of [audit.text, list.text, next.text, JSON.stringify(rows)])
    expect(text).not.toContain(secretLine)
  expect(audit.text).toContain('upload-app-env-certificate')
  const dry = await platform.request('PUT', '/app-env/domain/certificate', {
    token: platform.admin.token,
    input: { appEnvId, domain, certificate: { chain, key } },
    headers: { 'dry-run': 'true' },
  })
  expect(dry.json.impact).toMatchObject({ actions: ['change-credential'], environments: [appEnvId] })
})

it('uploaded-certificate that does not fit is refused with the reason', async () => {
  const domain = newName()
  await add({ domain })
  const good = makeCertificate(domain)
  const other = makeCertificate('other.example.com')
  const cases: [string, { chain: string; key: string }][] = [
    ['The private key does not belong to the certificate', { chain: good.chain, key: other.key }],
    [`The certificate is not valid for ${domain}`, { chain: other.chain, key: other.key }],
    ['The chain is broken', { chain: good.chain + other.chain, key: good.key }],
    ['The chain is not PEM', { chain: 'x', key: good.key }],
    ['The private key cannot be read', { chain: good.chain, key: 'x' }],
  ]
  for (const [error, { chain, key }] of cases) {
    const answer = await send('PUT', '/app-env/domain/certificate', { domain, certificate: { chain, key } })
    expect([answer.status, answer.json.error]).toEqual([400, error])
  }
  const late = Date.now() + 3 * 86_400_000
  expect(() => checkCertificate(good, domain, late)).toThrow('A certificate of the chain has expired')
  expect(() => checkCertificate(good, domain, 0)).toThrow('A certificate of the chain is not valid yet')
})
