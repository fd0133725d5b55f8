import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { scaleAppEnvContainers, updateAppEnvAutoscaling } from '../../../../src/contract/app-env-actions.ts'
import { getAppEnvHistory, getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { getAppEnv } from '../../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { AppAutoscaler } from '../../../../src/regions/machine/app-autoscaler.ts'
import { type Fault, FaultyDb } from '../../../../testkit/fakes/faulty-db.ts'
import { failEachWrite } from '../../../../testkit/platform/fault-fixture.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

const periodMs = 10_000

describe('the autoscaler of regular apps', () => {
  let platform: TestPlatform
  let db!: FaultyDb
  let appEnvId = ''
  /** The autoscaler's own time, ahead of the machine's: hours pass in it without waiting. */
  let aheadMs = 0
  const client = () => platform.admin.client
  const wallMs = () => platform.clock.wallMs() + aheadMs

  function newAutoscaler(environments = () => platform.reconciler!.metricTargets()): AppAutoscaler {
    const { db, log, metrics, clock } = platform
    return new AppAutoscaler({
      db,
      log,
      metrics,
      clock: { ...clock, wallMs, monotonicMs: () => clock.monotonicMs() + aheadMs, after: clock.after },
      clockScale: 1,
      environments,
      wake: (ids) => platform.reconciler!.wake(ids),
    })
  }

  /** Samples of this use by all containers together, one a period, each followed by a turn. */
  async function use(cpuMillicores: number, seconds: number, autoscaler = newAutoscaler()): Promise<void> {
    for (let passed = 0; passed < seconds; passed += 10) {
      aheadMs += periodMs
      const sample = { cpuMillicores, cpuLimitMillicores: 500, memoryMb: 100, memoryLimitMb: 512 }
      await platform.metrics.append(wallMs(), [{ appEnvId, containers: [sample], ingress: null }])
      await autoscaler.pass()
    }
  }

  const status = () => client().call(getAppEnvStatus, { appEnvId })
  const untilContainers = (count: number) =>
    untilRead(
      status,
      ({ containers }) => containers.ready === count && containers.running === count,
      `${count} containers`,
    )

  beforeAll(async () => {
    platform = await TestPlatform.start({
      wrapDb: (real) => {
        db = new FaultyDb(real)
        return db
      },
    })
    ;({ appEnvId } = await platform.makeEnvironment({ app: { useImage: true } }))
    await client().call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/app:1' })
    await untilRead(status, (read) => read.status === 'RUNNING', 'a running app')
    await client().call(updateAppEnvAutoscaling, { appEnvId, enabled: true, maxContainers: 4 })
    const settled = () => platform.reconciler!.metricTargets().some(({ autoscaled }) => autoscaled !== null)
    await untilRead(async () => settled(), Boolean, 'autoscaling in force')
  })
  afterAll(() => platform.close())

  it('starts containers under load, and says so in the history', async () => {
    await use(900, 10)
    await untilContainers(3)
    const { activities } = await client().call(getAppEnvHistory, { appEnvId })
    expect(activities.find(({ activity }) => activity === 'AUTOSCALE')).toMatchObject({
      status: 'DONE',
      userId: null,
      details: '1 to 3 containers: CPU 180% of 70%',
    })
  })

  it('is no pending change and no new revision', async () => {
    const before = await client().call(getAppEnv, { appEnvId })
    expect(before.pendingChanges).toMatchObject({ hasDeployChanges: false })
    await use(1_300, 10)
    await untilContainers(4)
    const after = await client().call(getAppEnv, { appEnvId })
    expect(after).toMatchObject({ containers: 4, revision: before.revision })
    expect(after.pendingChanges.hasDeployChanges).toBe(false)
  })

  it('takes containers away after the quiet window, also when restarted in the middle of it', async () => {
    await use(100, 200)
    expect((await status()).containers.desired).toBe(4)
    await use(100, 120, newAutoscaler())
    expect((await status()).containers.desired).toBe(1)
    await untilContainers(1)
  })

  it.each<Fault>(['rolled-back', 'answer-lost'])(
    'a failed write (%s) of a change is made up for with the next sample',
    async (fault) => {
      const failed = await failEachWrite(db, fault, async () => {
        await use(1_300, 20)
        await untilContainers(4)
        await use(100, 330)
        await untilContainers(1)
      })
      expect([...failed].some((tables) => tables.includes('activities'))).toBe(true)
    },
  )

  it('brings a count set by hand back into its bounds, and leaves everything alone when it is off', async () => {
    await client().call(scaleAppEnvContainers, { appEnvId, containers: 6 })
    const inForce = (count: number) => () =>
      platform.reconciler!.metricTargets().find((one) => one.appEnvId === appEnvId)?.autoscaled
        ?.containers === count
    await untilRead(async () => inForce(6)(), Boolean, 'the count set by hand')
    const seenBefore = platform.reconciler!.metricTargets()
    await client().call(updateAppEnvAutoscaling, { appEnvId, maxContainers: 6 })
    await newAutoscaler(() => seenBefore).pass()
    expect((await status()).containers.desired, 'bounds that changed while it decided').toBe(6)
    await client().call(scaleAppEnvContainers, { appEnvId, containers: 7 })
    await untilRead(async () => inForce(7)(), Boolean, 'another count set by hand')
    await newAutoscaler().pass()
    expect((await status()).containers.desired).toBe(6)
    await client().call(updateAppEnvAutoscaling, { appEnvId, enabled: false })
    const off = () => platform.reconciler!.metricTargets().every(({ autoscaled }) => autoscaled === null)
    await untilRead(async () => off(), Boolean, 'autoscaling off')
    await use(0, 400)
    expect((await status()).containers.desired).toBe(6)
  })
})
