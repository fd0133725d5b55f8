import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { readConfig } from '../../../src/config/config.ts'
import { regionMetrics } from '../../../src/server/regions/metrics.ts'
import { placeEnvironment } from '../../../testkit/platform/place-environment.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeEach(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterEach(() => platform.close())

/** A Prometheus that answers every query with one pod of the namespace and workload of the query. */
async function prometheus() {
  const queries: string[] = []
  const server = createServer(async (request, response) => {
    const form = new URLSearchParams(Buffer.concat((await request.toArray()) as Buffer[]).toString())
    const query = form.get('query')!
    queries.push(query)
    const [, namespace, workload] = /namespace=~"([^"]+)", pod=~"([^"]+)-\.\+"/.exec(query) ?? []
    const values = [[Number(form.get('end')), '0.25']]
    const of = (what: string) => ({
      metric: { namespace, pod: `${workload}-5d79bc7c8f-aaaaa`, of: what },
      values,
    })
    response.end(JSON.stringify({ status: 'success', data: { result: [of('used'), of('limit')] } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { queries, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

function metricsWith(url: string | undefined) {
  const cluster = {
    ...{ name: 'local', engine: 'kubernetes' as const, namespacePrefix: 'ls-', publicPort: 443 },
    ...{ podSecurity: 'baseline' as const, appDomain: 'app.test' },
    ...(url ? { prometheus: url } : {}),
  }
  const config = { ...readConfig({}), regions: [{ region: 'local', engine: 'kubernetes' as const, cluster }] }
  return regionMetrics({ config, db: platform.db, clock: platform.clock, metrics: platform.metrics })
}

const range = { metric: 'cpu_usage' as const, fromMs: 0, toMs: 300_000, stepMs: 300_000 }

describe('measurements of a cluster region (2.7)', () => {
  it('come from its Prometheus, for the namespace of the account and the objects of the environment', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { url, queries } = await prometheus()
    const metrics = metricsWith(url)
    expect(await metrics.series({ appEnvId, ...range })).toMatchObject([{ value: 250, last: 250 }])
    const namespace = platform.accountId.replace('acc_', 'ls-')
    expect(queries[0]).toContain(`{namespace=~"${namespace}", pod=~"`)
  })

  it('cannot be read while Prometheus is away', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    // From now on, no server listens there.
    await new Promise((resolve) => server.close(resolve))
    const metrics = metricsWith(`http://127.0.0.1:${port}`)
    await expect(metrics.series({ appEnvId, ...range })).rejects.toMatchObject({ kind: 'unavailable' })
    const nothing = { requests: 0, failed: 0, unanswered: 0 }
    expect(await metrics.traffic([{ appEnvId, fromMs: 0, toMs: 60_000 }])).toEqual([nothing])
  })

  it('are read where the environment serves, while it moves to or from there', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const { url } = await prometheus()
    const values = async () =>
      (await metricsWith(url).series({ appEnvId, ...range })).map(({ value }) => value)
    await placeEnvironment(platform.db, appEnvId, { region: 'plain', servedFrom: 'local' })
    expect(await values()).toEqual([250])
    // The samples of this machine have none.
    await placeEnvironment(platform.db, appEnvId, { region: 'local', servedFrom: 'plain' })
    expect(await values()).toEqual([])
  })

  it('are none without a Prometheus', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    expect(await metricsWith(undefined).series({ appEnvId, ...range })).toEqual([])
  })
})
