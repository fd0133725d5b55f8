import { expect, it } from 'vitest'
import { containerCounts, desiredAndReady } from '../../../src/domain/environments/container-counts.ts'

const run = (startedMs: number, finishedMs: number | null) => ({ startedMs, finishedMs })
const counts = (runs: ReturnType<typeof run>[], fromMs = 0, toMs = 40) =>
  containerCounts(runs, { fromMs, toMs, stepMs: 10 }).map(({ least, most, started, startedFromZero }) =>
    [least, most, started, startedFromZero].join(' '),
  )

it('counts containers that run at the same time, step by step', () => {
  expect(counts([])).toEqual(['0 0 0 0', '0 0 0 0', '0 0 0 0', '0 0 0 0'])
  // One over all steps, one from 12 to 18, one from 35 on.
  expect(counts([run(-5, null), run(12, 18), run(35, null)])).toEqual([
    '1 1 0 0',
    '1 2 1 0',
    '1 1 0 0',
    '1 2 1 0',
  ])
})

it('F2 tells starts from zero from scale-ups', () => {
  expect(counts([run(2, 4), run(6, 8), run(7, 25)])).toEqual(['0 2 3 2', '1 1 0 0', '0 1 0 0', '0 0 0 0'])
})

it('counts a replacement at the same time as one, and a container of no length too', () => {
  expect(counts([run(5, 15), run(15, 30)])[1]).toBe('0 1 1 1')
  expect(counts([run(15, 15)])[1]).toBe('0 1 1 1')
})

it('aligns steps, and ends with the step under way', () => {
  const points = containerCounts([run(0, null)], { fromMs: 13, toMs: 34, stepMs: 10 })
  expect(points.map(({ tMs }) => tMs)).toEqual([20, 30, 40])
})

it('shows the most containers that should run and the fewest that were ready, as far back as that is known', () => {
  const changes = [
    { atMs: 12, desired: 1, ready: 0 },
    { atMs: 14, desired: 1, ready: 1 },
    { atMs: 31, desired: 3, ready: 1 },
    { atMs: 38, desired: 0, ready: 0 },
  ]
  const steps = (fromMs: number, toMs: number) =>
    desiredAndReady(changes, { fromMs, toMs, stepMs: 10 }).map(({ desired, ready }) => `${desired} ${ready}`)
  expect(steps(0, 55)).toEqual(['null null', '1 0', '1 1', '3 0', '0 0', '0 0'])
  expect(steps(33, 40)).toEqual(['3 0'])
  expect(containerCounts([], { fromMs: 33, toMs: 55, stepMs: 10 })).toHaveLength(steps(33, 55).length)
})
