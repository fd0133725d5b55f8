import { createPrivateKey } from 'node:crypto'
import tls from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { signedBody } from '../../../src/acme/jws.ts'
import { acmeSend } from '../../../src/acme/send.ts'
import { systemClock } from '../../../src/clock.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { Domain } from '../../../src/contract/domains.ts'
import { connectGateway } from '../../../src/gateway/control/client.ts'
import { runGateway } from '../../../src/gateway/gateway.ts'
import { GatewayCertificates } from '../../../src/server/domains/gateway-certificates.ts'
import { orderCertificates } from '../../../src/server/domains/order-certificates.ts'
import { notStarted } from '../../../src/server/installation.ts'
import type { GatewayKeeper } from '../../../src/server/keep-gateway.ts'
import type { Platform } from '../../../src/server/platform.ts'
import { soleMembership } from '../../../src/store/membership.ts'
import { findAcmeAccount } from '../../../src/store/repositories/acme-accounts.ts'
import { Pebble, withoutPebble } from '../../../testkit/domains/pebble.ts'
import { freePort } from '../../../testkit/free-port.ts'
import { silent } from '../../../testkit/gateway/harness.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

const life = 36

describe.skipIf(withoutPebble)(
  `domains with a certificate authority${withoutPebble ? ' (left out: no pebble)' : ''}`,
  () => {
    let platform: TestPlatform
    let pebble: Pebble
    let appEnvId: string
    let tlsPort: number
    const closers: (() => unknown)[] = []

    beforeAll(async () => {
      platform = await TestPlatform.start({ reconciles: false, setsTxtRecords: true })
      appEnvId = (await platform.makeEnvironment()).appEnvId
      const socketPath = `${platform.dir}/gw.sock`
      tlsPort = await freePort()
      const gateway = await runGateway({
        ...{ socketPath, host: '127.0.0.1', port: 0, clockScale: 1, build: 'b1', log: silent },
        ...{ clock: systemClock, tlsPort, drainSeconds: 1 },
      })
      pebble = await Pebble.start({ httpPort: gateway.port, tlsPort, life, refusedNonces: 40 })
      const config = readConfig({
        LONGSHORE_HOME: platform.dir,
        LONGSHORE_ACME_URL: pebble.url,
        LONGSHORE_ACME_CA_FILE: pebble.caFile,
        LONGSHORE_ACME_EMAIL: 'ops@example.com',
        LONGSHORE_ACME_PROFILE: 'short',
        LONGSHORE_DNS_SERVERS: pebble.dns,
        LONGSHORE_DNS_HOOK: pebble.hook(),
      })
      const { db, secrets, clock } = platform
      const membership = soleMembership(db, 'one', () => clock.wallMs())
      const parts = { config, db, secrets, clock, log: silent, membership, regions: [] }
      const rest = { directory: { foreign: () => null }, home: { adminToken: 'none' } }
      const all = { ...parts, ...rest } as unknown as Platform
      const link = connectGateway({ socketPath, build: 'b1', clock: systemClock, log: silent, on: {} })
      link.setRoutes([])
      const certificates = new GatewayCertificates(all, link)
      const started = { ...notStarted(config), gateway: { certificates } as unknown as GatewayKeeper }
      started.apiUrl = 'http://127.0.0.1:4400'
      orderCertificates(all, started)
      await membership.start({ environments() {} })
      closers.push(
        () => membership.close(),
        () => certificates.stop(),
        () => link.close(),
        () => gateway.shutdown('over'),
        () => gateway.closed,
        () => pebble.stop(),
        () => platform.close(),
      )
    })
    afterAll(async () => {
      for (const close of closers) await close()
    })

    const send = async (method: string, place: string, input: object) => {
      const { json, status, text } = await platform.request(method, place, {
        token: platform.admin.token,
        input: { appEnvId, ...input },
      })
      if (status !== 200) throw new Error(text)
      return json
    }
    const add = (domain: string, more: object = {}) => send('POST', '/app-env/domain', { domain, ...more })
    const verify = (domain: string) => send('POST', '/app-env/domain/verify', { domain })
    const read = async (domain: string): Promise<Domain> => {
      const { domains } = await send('GET', '/app-env/domains', {})
      return domains.find((one: Domain) => one.domain === domain)
    }
    const until = (domain: string, fits: (value: Domain) => boolean, what: string) =>
      untilRead(() => read(domain), fits, what, 60_000)
    const isActive = ({ status }: Domain) => status === 'active'
    /** The serial number of the certificate that the gateway serves. */
    const served = (servername: string) =>
      new Promise<string>((resolve, reject) => {
        const socket = tls.connect({ port: tlsPort, servername, rejectUnauthorized: false }, () => {
          const { serialNumber, subjectaltname } = socket.getPeerCertificate()
          socket.destroy()
          if (subjectaltname?.includes(`DNS:${servername}`) || servername === 'a.wild.example')
            resolve(serialNumber)
          else reject(new Error(`serves ${subjectaltname}`))
        })
        socket.on('error', reject)
      })

    it('dns-before-order certificate-renewal a domain waits for its DNS, gets its certificate by http-01, and lives through two renewals', async () => {
      const name = 'shop.example'
      await add(name)
      const waiting = await until(name, ({ dns }) => dns.checkedAt !== null, 'a look')
      expect(waiting).toMatchObject({ status: 'waiting-dns', attempts: 0, lastError: { type: 'dns' } })
      await pebble.set(name, '127.0.0.1', '192.0.2.7')
      await verify(name)
      await until(name, ({ dns }) => dns.seen.length === 2, 'both addresses')
      expect(await read(name)).toMatchObject({ status: 'waiting-dns', attempts: 0 })
      await pebble.set(name, '127.0.0.1')
      await verify(name)
      const active = await until(name, isActive, 'the certificate')
      expect(active).toMatchObject({
        ...{ attempts: 0, lastError: null },
        certificate: {
          source: 'acme',
          names: [name],
          profile: 'short',
          issuer: expect.stringContaining('Pebble'),
        },
      })
      const { notBefore, notAfter, renewAt } = active.certificate!
      expect(Date.parse(renewAt!)).toBeGreaterThan(Date.parse(notBefore))
      expect(Date.parse(renewAt!)).toBeLessThan(Date.parse(notAfter))
      const serials = new Set([
        await untilRead(
          () => served(name),
          () => true,
          'TLS',
        ),
      ])
      // Each comes before the one before it ends.
      for (let ends = notAfter; serials.size < 3; ) {
        const next = await until(name, ({ certificate }) => certificate!.notAfter > ends, 'a renewal')
        expect(next.status).toBe('active')
        expect(Date.parse(next.certificate!.notBefore)).toBeLessThan(Date.parse(ends))
        ends = next.certificate!.notAfter
        serials.add(
          await untilRead(
            () => served(name),
            (serial) => !serials.has(serial),
            'the new one',
          ),
        )
      }
      await send('DELETE', '/app-env/domain', { domain: name })
      await untilRead(
        () =>
          served(name).then(
            () => false,
            () => true,
          ),
        (gone) => gone,
        'its end',
      )
    })

    it.each([
      ['tls-alpn-01', 'alpn.example'],
      ['dns-01', '*.wild.example'],
    ])('certificate-challenges a certificate comes by %s', async (challenge, name) => {
      await pebble.set(name.replace('*', 'longshore-check'), '127.0.0.1')
      await add(name, { challenge })
      await until(name, isActive, 'the certificate')
      await untilRead(
        () => served(name.replace('*', 'a')),
        () => true,
        'TLS',
      )
      await send('DELETE', '/app-env/domain', { domain: name })
    })

    it('certificate-failures a refused name fails with the reason of the authority, and is not tried again at once', async () => {
      const name = 'x.blocked.example'
      await pebble.set(name, '127.0.0.1')
      await add(name)
      const failed = await until(name, ({ status }) => status === 'failed', 'the failure')
      expect(failed).toMatchObject({
        attempts: 1,
        certificate: null,
        lastError: { type: 'rejectedIdentifier' },
      })
      expect(Date.parse(failed.lastError!.retryAt!)).toBeGreaterThan(Date.now() + 30_000)
    })

    it('certificate-failures an authority that is away is tried again, and a lost account is replaced', async () => {
      const name = 'later.example'
      await pebble.set(name, '127.0.0.1')
      await pebble.goAway()
      await add(name)
      const failed = await until(name, ({ status }) => status === 'failed', 'the failure')
      expect(failed.lastError).toMatchObject({ type: 'connection' })
      // Pebble forgets its accounts when it ends.
      await pebble.comeBack()
      await verify(name)
      expect((await until(name, isActive, 'the certificate')).attempts).toBe(0)
    })

    it('certificate-failures a deactivated account is replaced', async () => {
      const stored = await platform.db.read((tx) => findAcmeAccount(tx, pebble.url))
      const key = createPrivateKey(platform.secrets.open(stored!.key, `${pebble.url}/key`))
      const post = acmeSend({ caFile: pebble.caFile, clock: systemClock })
      await untilRead(
        async () => {
          const head = await post({ url: pebble.url.replace('/dir', '/nonce-plz'), method: 'HEAD' })
          const header = { nonce: head.headers['replay-nonce']!, url: stored!.url, kid: stored!.url }
          return post({
            url: stored!.url,
            method: 'POST',
            body: signedBody({ status: 'deactivated' }, header, key),
          })
        },
        ({ status }) => status === 200,
        'the deactivation',
      )
      const name = 'again.example'
      await pebble.set(name, '127.0.0.1')
      await add(name)
      await until(name, isActive, 'the certificate')
      const next = await platform.db.read((tx) => findAcmeAccount(tx, pebble.url))
      expect(next!.url).not.toBe(stored!.url)
    })
  },
)
