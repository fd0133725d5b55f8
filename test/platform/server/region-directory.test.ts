import { describe, expect, it } from 'vitest'
import { RegionDirectory } from '../../../src/server/regions/directory.ts'
import type { PlatformRegion } from '../../../src/server/regions/region.ts'
import type { KnownInstance } from '../../../src/store/membership.ts'

function instance(
  node: string,
  holds: boolean,
  isAlive = true,
  problem: string | null = null,
): KnownInstance {
  const region = { region: 'eu', engine: 'kubernetes', problem, databases: [[node, {}]] }
  const leases = holds ? [{ name: 'region eu', sinceMs: 0 }] : []
  return { node, isAlive, leases, regions: [region] } as unknown as KnownInstance
}
const own = { region: 'eu', cluster: () => {} } as unknown as PlatformRegion
const directoryOf = (node: string, instances: KnownInstance[], regions: PlatformRegion[] = []) =>
  new RegionDirectory(regions, node, { isShared: true, instances: () => instances })

describe('a cluster region that several control planes can run', () => {
  it('is read from the one that runs it', () => {
    const both = [instance('alder', false), instance('birch', true)]
    expect(directoryOf('alder', both, [own]).elsewhere('eu')?.node).toBe('birch')
    expect(directoryOf('birch', both, [own]).elsewhere('eu')).toBeNull()
    expect(directoryOf('cedar', both).elsewhere('eu')?.node).toBe('birch')
    // Its lease lasts until another one takes it, but it does not answer.
    const gone = [instance('alder', false), instance('birch', true, false)]
    expect(directoryOf('alder', gone, [own]).elsewhere('eu')).toBeNull()
    expect(directoryOf('cedar', gone).elsewhere('eu')?.node).toBe('alder')
  })

  it('is one region, which is away only when all are', () => {
    const directory = (isAlive: boolean) =>
      directoryOf('cedar', [instance('alder', true, false), instance('birch', false, isAlive, 'why')])
    const listed = directory(true).regions(
      () => null,
      () => new Map(),
    )
    expect(listed).toMatchObject([{ region: 'eu', name: 'eu (kubernetes)', unavailableReason: 'why' }])
    expect(listed[0]).not.toHaveProperty('node')
    expect(directory(true).away()).toEqual([])
    expect(directory(false).away()).toEqual(['eu'])
  })
})
