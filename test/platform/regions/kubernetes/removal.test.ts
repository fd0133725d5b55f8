import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { RegionBed } from '../../../../testkit/kubernetes/region-bed.ts'

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
  let bed: RegionBed
  beforeEach(async () => {
    bed = new RegionBed()
    await bed.open()
  })
  afterEach(() => bed.close())

  const untilGone = (appEnvId: string) =>
    bed.time.passed(() => bed.objectsOf(appEnvId).length === 0, `nothing left of ${appEnvId}`)

  it('goes as a whole, with the volume of a version that runs', async () => {
    await bed.start()
    const appEnvId = await bed.create('shop:1')
    await bed.untilDeployment(appEnvId, 'DEPLOYED')
    expect(bed.objectsOf(appEnvId)).toEqual(whole)
    await bed.delete(appEnvId)
    await untilGone(appEnvId)
    expect(bed.cluster.names()).toEqual([])
  })

  it('goes with the volume of a first version that failed, which stays until then', async () => {
    await bed.start()
    const appEnvId = await bed.create('crash:1')
    await bed.untilDeployment(appEnvId, 'FAILED')
    await bed.time.advance(resyncMs)
    expect(bed.objectsOf(appEnvId)).toEqual([volume])
    const { uid } = bed.cluster.find(volume)!.metadata
    await bed.delete(appEnvId)
    const next = await bed.create('shop:1')
    await bed.untilDeployment(next, 'DEPLOYED')
    expect(bed.objectsOf(appEnvId)).toEqual([])
    // No file of the deleted environment is there.
    expect(bed.cluster.find(volume)!.metadata.uid).not.toBe(uid)
  })

  it('is found without its row: a volume that is left alone goes, that of a failed environment stays', async () => {
    await bed.start()
    const appEnvId = await bed.create('crash:1')
    await bed.untilDeployment(appEnvId, 'FAILED')
    await bed.time.passed(() => bed.objectsOf(appEnvId).length === 1, 'nothing but the volume')
    await bed.stop()
    await bed.start()
    await bed.time.advance(resyncMs)
    expect(bed.objectsOf(appEnvId)).toEqual([volume])
    await bed.stop()
    await bed.delete(appEnvId)
    await bed.start()
    await untilGone(appEnvId)
  })

  it('leaves nothing of its successor out, and takes nothing of it along, after a control plane was away', async () => {
    await bed.start()
    const first = await bed.create('shop:1')
    await bed.untilDeployment(first, 'DEPLOYED')
    await bed.stop()
    await bed.delete(first)
    const next = await bed.create('shop:2')
    // The pod of the first one ends slowly, and uses its volume until then.
    bed.cluster.held.add(volume)
    await bed.start()
    await bed.time.advance(resyncMs)
    expect(bed.objectsOf(first)).toEqual([volume])
    expect(bed.objectsOf(next)).toEqual([])
    expect(await bed.deployment(next)).toBe('DEPLOYING')
    bed.cluster.release(volume)
    await bed.untilDeployment(next, 'DEPLOYED')
    expect(bed.objectsOf(next)).toEqual(whole)
    await bed.time.advance(2 * resyncMs)
    expect(bed.cluster.names()).toEqual(whole)
    expect(bed.objectsOf(next)).toEqual(whole)
  })

  it('is not applied late over its successor: that waits for the pass that is under way', async () => {
    await bed.start()
    const first = await bed.create('shop:1', {})
    let resume = () => {}
    const paused = new Promise<void>((reached) => {
      bed.cluster.before = (call) => {
        if (call !== 'PATCH services shop-prod') return
        bed.cluster.before = () => {}
        reached()
        return new Promise<void>((resolve) => (resume = resolve))
      }
    })
    await Promise.all([paused, bed.time.passed(() => bed.objectsOf(first).length > 0, 'its first object')])
    await bed.delete(first)
    const next = await bed.create('shop:2')
    await bed.time.advance(10_000)
    const early = bed.objectsOf(next)
    resume()
    expect(early).toEqual([])
    await bed.untilDeployment(next, 'DEPLOYED')
    await bed.time.advance(resyncMs)
    expect(bed.cluster.names()).toEqual(whole)
    expect(bed.objectsOf(next)).toEqual(whole)
  })
})
