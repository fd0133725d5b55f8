import { describe, expect, it } from 'vitest'
import { planLeases } from '../../../src/store/lease-plan.ts'

const names = ['d', 'b', 'c', 'a']

/** Who does which part that every instance can do. */
function plan(parts: readonly string[], ids: readonly string[]) {
  const works = parts.map((name) => ({ name, region: undefined }))
  return planLeases(
    works,
    ids.map((id) => ({ id, regions: [] })),
    () => undefined,
  )
}

describe('who does which part of the shared work', () => {
  it('is the same whatever the order in which an instance reads the others', () => {
    expect([...plan(names, ['y', 'x'])]).toEqual([
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
      ['d', 'y'],
    ])
    expect(plan([...names].reverse(), ['x', 'y'])).toEqual(plan(names, ['y', 'x']))
  })

  it('gives each instance its share, and nothing where there is none', () => {
    for (const instances of [['x'], ['x', 'y', 'z'], ['v', 'w', 'x', 'y']]) {
      const shares = instances.map((id) => [...plan(names, instances).values()].filter((one) => one === id))
      const counts = shares.map(({ length }) => length)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      expect(counts.reduce((sum, count) => sum + count)).toBe(names.length)
    }
    expect(plan(names, []).size).toBe(0)
  })

  it('leaves a region with its holder while that one can run it, and gives it only to those that can', () => {
    const works = [
      { name: 'a', region: undefined },
      { name: 'region eu', region: 'eu' },
      { name: 'region us', region: 'us' },
    ]
    const living = [
      { id: 'x', regions: ['eu'] },
      { id: 'y', regions: ['eu', 'us'] },
      { id: 'z', regions: [] },
    ]
    const holders = (holder?: string) => [...planLeases(works, living, () => holder)]
    for (const eu of ['x', 'y']) expect(holders(eu)).toContainEqual(['region eu', eu])
    for (const holder of ['x', 'y', 'z', 'gone', undefined]) {
      const all = new Map(holders(holder))
      expect(['x', 'y']).toContain(all.get('region eu'))
      expect(all.get('region us')).toBe('y')
      // What all can do does not depend on the regions that an instance has.
      expect(all.get('a')).toBe('x')
    }
    expect(planLeases(works, living.slice(2), () => 'x').has('region eu')).toBe(false)
  })
})
