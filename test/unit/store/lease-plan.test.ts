import { describe, expect, it } from 'vitest'
import { assignLeases } from '../../../src/store/lease-plan.ts'

const names = ['d', 'b', 'c', 'a']

describe('who does which part of the shared work', () => {
  it('is the same whatever the order in which an instance reads the others', () => {
    expect([...assignLeases(names, ['y', 'x'])]).toEqual([
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
      ['d', 'y'],
    ])
    expect(assignLeases([...names].reverse(), ['x', 'y'])).toEqual(assignLeases(names, ['y', 'x']))
  })

  it('gives each instance its share, and nothing where there is none', () => {
    for (const instances of [['x'], ['x', 'y', 'z'], ['v', 'w', 'x', 'y']]) {
      const shares = instances.map((id) =>
        [...assignLeases(names, instances).values()].filter((one) => one === id),
      )
      const counts = shares.map(({ length }) => length)
      expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
      expect(counts.reduce((sum, count) => sum + count)).toBe(names.length)
    }
    expect(assignLeases(names, []).size).toBe(0)
  })
})
