import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findAlertStates, saveAlertState } from '../../../src/alerting/states.ts'
import { createAlert } from '../../../src/contract/alerts.ts'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { diagnoseAppEnv, getAccountHealth, whatChanged } from '../../../src/contract/diagnosis.ts'
import { bucketOf } from '../../../src/metrics/histogram.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../testkit/until.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start()
})
afterAll(() => platform.close())

const diagnosis = (appEnvId: string) => platform.admin.client.call(diagnoseAppEnv, { appEnvId })

async function deployed(dockerPreset = 'CUSTOM'): Promise<string> {
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true, dockerPreset } })
  const { client } = platform.admin
  await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/shop:1' })
  await untilRead(
    () => client.call(getAppEnvStatus, { appEnvId }),
    ({ currentDeployment }) => currentDeployment?.status === 'DEPLOYED',
    'a finished deployment',
  )
  return appEnvId
}

interface Load {
  requests: number
  failed?: number
  unanswered?: number
  ms: number
}

/** What the gateway reported: a sample that ended `agoSeconds` ago. */
async function load(appEnvId: string, agoSeconds: number, one: Load) {
  const { requests, failed = 0, unanswered = 0, ms } = one
  const atMs = platform.clock.wallMs() - agoSeconds * 1_000
  const latency = requests > unanswered ? { [bucketOf(ms)]: requests - unanswered } : {}
  const ingress = { seconds: 10, requests, answered4xx: 0, answered5xx: failed, latency }
  await platform.metrics.append(atMs, [{ appEnvId, containers: [], ingress }])
  platform.metrics.recentTraffic.add(appEnvId, { requests, failed, unanswered }, atMs, atMs)
}

async function calm(appEnvId: string): Promise<void> {
  for (let ago = 300; ago >= 30; ago -= 10) await load(appEnvId, ago, { requests: 400, ms: 20 })
}

/** As if it had served for a while: only then do requests before now count. */
async function served(dockerPreset?: string): Promise<string> {
  const appEnvId = await deployed(dockerPreset)
  await platform.db.write(async (tx) => {
    const row = await tx
      .selectFrom('rollouts')
      .select('record')
      .where('app_env_id', '=', appEnvId)
      .executeTakeFirstOrThrow()
    const record = JSON.stringify({ ...JSON.parse(row.record), deployedAt: new Date(0).toISOString() })
    await tx.updateTable('rollouts').set({ record }).where('app_env_id', '=', appEnvId).execute()
  })
  return appEnvId
}

describe('what has just begun', () => {
  it('a function that answers in 6 s is not healthy, 20 s after it began', async () => {
    const appEnvId = await served('FUNCTION')
    await calm(appEnvId)
    expect((await diagnosis(appEnvId)).healthy).toBe(true)
    await load(appEnvId, 1, { requests: 3, ms: 6_000 })
    const { healthy, findings } = await diagnosis(appEnvId)
    expect(healthy).toBe(false)
    expect(findings[0]).toMatchObject({
      cause: 'slow-responses',
      evidence: [{ source: 'metric', text: 'ingress_p95_latency' }],
    })
    expect(findings[0]?.evidence[0]?.value).toBeGreaterThan(5)
  })

  it('every tenth request that fails counts, also after a busy minute without errors', async () => {
    const appEnvId = await served()
    await calm(appEnvId)
    await load(appEnvId, 1, { requests: 100, failed: 10, ms: 20 })
    const { healthy, findings } = await diagnosis(appEnvId)
    expect(healthy).toBe(false)
    expect(findings[0]).toMatchObject({
      cause: 'error-burst',
      summary: expect.stringContaining('10 % of requests'),
    })
    const { worst } = await platform.admin.client.call(getAccountHealth, { accountId: platform.accountId })
    expect(worst.find(({ causes }) => causes.includes('error-burst'))).toBeDefined()
  })
})

describe('an alert that fires', () => {
  async function fires(appEnvId: string): Promise<string> {
    const { client } = platform.admin
    const { alert } = await client.call(createAlert, {
      ...{ appEnvId, name: 'too many errors', metric: 'ingress_5xx_percent', operator: 'gt', threshold: 5 },
      ...{ duration: '1m', queryRange: '5m', contactPointIds: [] },
    })
    const at = new Date(platform.clock.wallMs()).toISOString()
    await platform.db.write(async (tx) => {
      const state = (await findAlertStates(tx, [alert.alertId])).get(alert.alertId)!
      const progress = { ...state.progress, state: 'Firing', isOpen: true, episode: 1 } as const
      await saveAlertState(tx, { ...state, progress }, { from: 'Pending', to: 'Firing', at, value: 67 })
    })
    return alert.alertId
  }

  it('is never beside "healthy": the finding names it, and when it resolves after a repair', async () => {
    const appEnvId = await served()
    await load(appEnvId, 120, { requests: 100, failed: 67, ms: 20 })
    await load(appEnvId, 60, { requests: 100, ms: 20 })
    const alertId = await fires(appEnvId)
    const { healthy, findings } = await diagnosis(appEnvId)
    expect(healthy).toBe(false)
    const finding = findings.find(({ cause }) => cause === 'alert-firing')!
    expect(finding).toMatchObject({
      severity: 'warning',
      evidence: [
        { source: 'alert', text: 'too many errors' },
        { source: 'metric', text: 'ingress_5xx_percent', value: 67 },
      ],
    })
    expect(finding.summary).toContain(`Alert ${alertId} fires: ingress_5xx_percent is above 5.`)
    const resolves = /it resolves at (\S+Z)/.exec(finding.summary)![1]!
    const inSeconds = (Date.parse(resolves) - platform.clock.wallMs()) / 1_000
    expect(inSeconds).toBeGreaterThan(120)
    expect(inSeconds).toBeLessThan(200)
  })

  it('says that it waits for the metric while the metric is beyond the threshold', async () => {
    const appEnvId = await served()
    await load(appEnvId, 1, { requests: 100, failed: 67, ms: 20 })
    await fires(appEnvId)
    const { findings } = await diagnosis(appEnvId)
    expect(findings.map(({ cause }) => cause).slice(0, 2)).toEqual(['error-burst', 'alert-firing'])
    expect(findings[1]!.summary).toContain('It resolves when the metric is back within the threshold.')
  })
})

describe('an outage', () => {
  it('that every request meets is critical, and comes before every warning in the account', async () => {
    const [some, all, silent] = [await served(), await served(), await served()]
    await load(some, 1, { requests: 100, failed: 12, ms: 20 })
    await load(all, 1, { requests: 20, failed: 20, ms: 20 })
    await load(silent, 1, { requests: 20, unanswered: 20, ms: 20 })
    const { client } = platform.admin
    const nameOf = async (appEnvId: string) => (await client.call(getAppEnv, { appEnvId })).cliEnvName
    const { worst } = await client.call(getAccountHealth, { accountId: platform.accountId })
    const severityOf = async (appEnvId: string) => {
      const envName = await nameOf(appEnvId)
      return worst.find((one) => one.envName === envName)?.severity
    }
    expect([await severityOf(all), await severityOf(silent)]).toEqual(['critical', 'critical'])
    const severities = worst.map(({ severity }) => severity)
    expect(severities.lastIndexOf('critical')).toBeLessThan(severities.indexOf('warning'))
    for (const appEnvId of [all, silent])
      expect((await diagnosis(appEnvId)).findings[0]?.severity).toBe('critical')
    expect(await severityOf(some)).toBe('warning')
  })

  it('that a deployment causes has the same cause in its answer and in the diagnosis', async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    const { client } = platform.admin
    platform.engine.faults.failStarts = {
      times: 9,
      reason: 'exited',
      message: 'The container exited with 3.',
    }
    await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/shop:1' })
    const { currentDeployment } = await untilRead(
      () => client.call(getAppEnvStatus, { appEnvId }),
      (status) => status.currentDeployment?.status === 'FAILED',
      'a failed deployment',
    )
    const { findings } = await diagnosis(appEnvId)
    expect(currentDeployment?.failure?.cause).toBe(findings[0]?.cause)
    expect(findings[0]).toMatchObject({ severity: 'critical' })
    platform.engine.faults.failStarts = { times: 0, reason: 'exited', message: '' }
  })

  it('G5 after a repair is an episode of its own in what-changed', async () => {
    const appEnvId = await served()
    await platform.db.write(async (tx) => {
      const row = await tx
        .selectFrom('app_envs')
        .select('record')
        .where('app_env_id', '=', appEnvId)
        .executeTakeFirstOrThrow()
      const record = JSON.stringify({ ...JSON.parse(row.record), createdAt: new Date(0).toISOString() })
      await tx.updateTable('app_envs').set({ record }).where('app_env_id', '=', appEnvId).execute()
    })
    const minute = 60
    const isBroken = (ago: number) => (ago < 100 * minute && ago > 80 * minute) || ago < 10 * minute
    for (let ago = 150 * minute; ago >= 0; ago -= 10)
      await load(appEnvId, ago, { requests: 100, failed: isBroken(ago) ? 60 : 0, ms: 20 })
    const from = new Date(platform.clock.wallMs() - 150 * minute * 1_000).toISOString()
    const { broke } = await platform.admin.client.call(whatChanged, { appEnvId, from })
    expect(broke?.metric).toBe('ingress_5xx_percent')
    const agoSeconds = (platform.clock.wallMs() - Date.parse(broke!.at)) / 1_000
    expect(agoSeconds).toBeLessThan(11 * minute)
  })
})
