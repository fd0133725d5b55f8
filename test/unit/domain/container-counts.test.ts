import { expect, it } from 'vitest'
import { containerCounts } from '../../../src/domain/environments/container-counts.ts'

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
