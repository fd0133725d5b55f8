import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegionFixture } from '../../../../testkit/kubernetes/region-fixture.ts'

const volume = 'persistentvolumeclaims shop-prod-data'
/** Longer than the time between two resyncs. */
const resyncMs = 61_000
const whole = [
  'deployments shop-prod',
  'ingresses shop-prod',
  volume,
  expect.stringMatching(/^secrets shop-prod-/),
  'services shop-prod',
]

describe('what a cluster has of a deleted environment', () => {
  let fixture: RegionFixture
  beforeEach(async () => {
    fixture = new RegionFixture()
    await fixture.open()
  })
  afterEach(() => fixture.close())

  const untilGone = (appEnvId: string) =>
    fixture.time.passed(() => fixture.objectsOf(appEnvId).length === 0, `nothing left of ${appEnvId}`)

  it('goes as a whole, with the volume of a version that runs', async () => {
    await fixture.start()
    const appEnvId = await fixture.create('shop:1')
    await fixture.untilDeployment(appEnvId, 'DEPLOYED')
    expect(fixture.objectsOf(appEnvId)).toEqual(whole)
    await fixture.delete(appEnvId)
    await untilGone(appEnvId)
    expect(fixture.cluster.names()).toEqual([])
  })

  it('goes with the volume of a first version that failed, which stays until then', async () => {
    await fixture.start()
    const appEnvId = await fixture.create('crash:1')
    await fixture.untilDeployment(appEnvId, 'FAILED')
    await fixture.time.advance(resyncMs)
    expect(fixture.objectsOf(appEnvId)).toEqual([volume])
    const { uid } = fixture.cluster.find(volume)!.metadata
    await fixture.delete(appEnvId)
    const next = await fixture.create('shop:1')
    await fixture.untilDeployment(next, 'DEPLOYED')
    expect(fixture.objectsOf(appEnvId)).toEqual([])
    // No file of the deleted environment is there.
    expect(fixture.cluster.find(volume)!.metadata.uid).not.toBe(uid)
  })

  it('is found without its row: a volume that is left alone goes, that of a failed environment stays', async () => {
    await fixture.start()
    const appEnvId = await fixture.create('crash:1')
    await fixture.untilDeployment(appEnvId, 'FAILED')
    await fixture.time.passed(() => fixture.objectsOf(appEnvId).length === 1, 'nothing but the volume')
    await fixture.stop()
    await fixture.start()
    await fixture.time.advance(resyncMs)
    expect(fixture.objectsOf(appEnvId)).toEqual([volume])
    await fixture.stop()
    await fixture.delete(appEnvId)
    await fixture.start()
    await untilGone(appEnvId)
  })

  it('leaves nothing of its successor out, and takes nothing of it along, after a control plane was away', async () => {
    await fixture.start()
    const first = await fixture.create('shop:1')
    await fixture.untilDeployment(first, 'DEPLOYED')
    await fixture.stop()
    await fixture.delete(first)
    const next = await fixture.create('shop:2')
    // The pod of the first one ends slowly, and uses its volume until then.
    fixture.cluster.held.add(volume)
    await fixture.start()
    await fixture.time.advance(resyncMs)
    expect(fixture.objectsOf(first)).toEqual([volume])
    expect(fixture.objectsOf(next)).toEqual([])
    expect(await fixture.deployment(next)).toBe('DEPLOYING')
    fixture.cluster.release(volume)
    await fixture.untilDeployment(next, 'DEPLOYED')
    expect(fixture.objectsOf(next)).toEqual(whole)
    await fixture.time.advance(2 * resyncMs)
    expect(fixture.cluster.names()).toEqual(whole)
    expect(fixture.objectsOf(next)).toEqual(whole)
  })

  it('is not applied late over its successor: that waits for the pass that is under way', async () => {
    await fixture.start()
    const first = await fixture.create('shop:1', {})
    let resume = () => {}
    const paused = new Promise<void>((reached) => {
      fixture.cluster.before = (call) => {
        if (call !== 'PATCH services shop-prod') return
        fixture.cluster.before = () => {}
        reached()
        return new Promise<void>((resolve) => (resume = resolve))
      }
    })
    const begun = fixture.time.passed(() => fixture.objectsOf(first).length > 0, 'its first object')
    await Promise.all([paused, begun])
    await fixture.delete(first)
    const next = await fixture.create('shop:2')
    await fixture.time.advance(10_000)
    const early = fixture.objectsOf(next)
    resume()
    expect(early).toEqual([])
    await fixture.untilDeployment(next, 'DEPLOYED')
    await fixture.time.advance(resyncMs)
    expect(fixture.cluster.names()).toEqual(whole)
    expect(fixture.objectsOf(next)).toEqual(whole)
  })
})
