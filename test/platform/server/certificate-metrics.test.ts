import { afterAll, beforeAll, expect, it } from 'vitest'
import type { MetricReader } from '../../../src/metrics/source.ts'
import { CertificateMetrics, certificateDays } from '../../../src/server/domains/metrics.ts'
import { makeCertificate } from '../../../testkit/gateway/certificates.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

it('2.7 certificate_days_left is of the certificate that ends first, and unknown without one', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const { metrics, db, admin } = platform
  const source = new CertificateMetrics(metrics as unknown as MetricReader, db)
  const now = Date.now()
  const query = {
    appEnvId,
    metric: 'certificate_days_left',
    fromMs: now - 20_000,
    toMs: now + 86_400_000,
  } as const
  const read = () => source.series({ ...query, stepMs: 86_400_000 + 20_000 })
  expect(await read()).toEqual([])
  for (const domain of ['one.example.com', 'two.example.com']) {
    const { chain, key } = makeCertificate(domain)
    const input = { appEnvId, domain, certificate: { chain, key } }
    const { status } = await platform.request('POST', '/app-env/domain', { token: admin.token, input })
    expect(status).toBe(200)
  }
  const [point] = await read()
  // The certificates are valid for two days, and the point is one day ahead.
  expect(point!.value).toBeGreaterThan(0.9)
  expect(point!.value).toBeLessThanOrEqual(1)
  const [days] = await certificateDays(db, now)
  expect(days).toEqual({ appEnvId, days: expect.closeTo(2, 1) })
})

it('2.7 certificate_days_left can be alerted on for functions, and not for databases', async () => {
  const alert = {
    name: 'ends',
    metric: 'certificate_days_left',
    operator: 'lt',
    threshold: 14,
    duration: '1m',
  }
  const create = async (dockerPreset: string) => {
    const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset } })
    const input = { appEnvId, ...alert, contactPointIds: [] }
    return (await platform.request('POST', '/app-env/alert', { token: platform.admin.token, input })).status
  }
  expect(await create('FUNCTION')).toBe(200)
  expect(await create('REDIS')).toBe(400)
})
