import { describe, expect, it } from 'vitest'
import type { AlertState } from '../../../src/contract/alerts.ts'
import {
  type AlertProgress,
  newAlertProgress,
  nextAlertState,
  type Reading,
} from '../../../src/domain/alerts/state.ts'
import { randomOf } from '../../../testkit/random.ts'

const met: Reading = { kind: 'value', value: 90, isMet: true }
const unmet: Reading = { kind: 'value', value: 10, isMet: false }
const noData: Reading = { kind: 'no-data' }
const failed: Reading = { kind: 'error' }
const minute = 60_000

interface Seen {
  state: AlertState
  notification: 'firing' | 'resolved' | null
}

function play(
  readings: readonly Reading[],
  sinceMs: (index: number) => number,
  durationMs: number,
  clearMs = 5 * minute,
): Seen[] {
  let progress: AlertProgress = newAlertProgress
  return readings.map((reading, index) => {
    const step = nextAlertState(progress, reading, { sinceMs: sinceMs(index), durationMs, clearMs })
    progress = step.progress
    return { state: progress.state, notification: step.notification }
  })
}

/**
 * An independent formulation of the rules, from the whole history at once. Time counts between adjacent readings that
 * are both met, until "not met" or "no data", and between adjacent ones that are both "not met", until a met one: an
 * episode begins with the first of it that is long enough, and from the third in a row on ends with the second.
 */
function reference(
  readings: readonly Reading[],
  sinceMs: (index: number) => number,
  { durationMs, clearMs }: { durationMs: number; clearMs: number },
): Seen[] {
  const is = (index: number, isMet: boolean) => {
    const reading = readings[index]
    return reading?.kind === 'value' && reading.isMet === isMet
  }
  const breaks = (index: number) => is(index, false) || readings[index]?.kind === 'no-data'
  const isCalm = (index: number) => {
    let calm = 0
    for (let at = index; at > 0 && !is(at, true); at -= 1)
      if (is(at, false) && is(at - 1, false)) calm += sinceMs(at)
    return is(index, false) && calm >= clearMs
  }
  // In an open episode: met again after "not met", but not for the duration yet.
  const isDip = (index: number) => {
    let start = index
    while (is(start - 1, true)) start -= 1
    const held = all.slice(start + 1, index + 1).reduce((sum, at) => sum + sinceMs(at), 0)
    return is(start - 1, false) && held < durationMs
  }
  const all = [...readings.keys()]
  const firstFrom = (from: number, test: (index: number) => boolean) =>
    all.slice(from).find(test) ?? Number.POSITIVE_INFINITY
  const firesFrom = (from: number): number => {
    let held = 0
    for (let index = from; index < readings.length; index += 1) {
      if (breaks(index)) held = 0
      else if (index > from && is(index, true) && is(index - 1, true)) held += sinceMs(index)
      if (is(index, true) && held >= durationMs) return index
    }
    return Number.POSITIVE_INFINITY
  }
  const episodes: { from: number; to: number }[] = []
  let inARow = 0
  for (let from = firesFrom(0); from < readings.length; ) {
    const last = episodes.at(-1)
    inARow = last && firstFrom(last.from, isCalm) > from ? inARow + 1 : 1
    const to = firstFrom(from, (index) => (inARow < 3 ? is(index, false) : isCalm(index)))
    episodes.push({ from, to })
    from = firesFrom(to)
  }
  return readings.map((reading, index) => {
    const open = episodes.some(({ from, to }) => from <= index && index < to)
    const notification = episodes.some(({ from }) => from === index)
      ? 'firing'
      : episodes.some(({ to }) => to === index)
        ? 'resolved'
        : null
    if (reading.kind === 'error') return { state: 'Error', notification }
    if (reading.kind !== 'value') return { state: 'NoData', notification }
    if (!reading.isMet) return { state: 'Normal', notification }
    return { state: open && !isDip(index) ? 'Firing' : 'Pending', notification }
  })
}

describe('the state of an alert (3.2)', () => {
  it('waits for the duration before it fires, notifies once, and resolves once', () => {
    const readings = [unmet, met, met, met, met, met, unmet, unmet]
    expect(play(readings, () => minute / 2, minute)).toEqual([
      { state: 'Normal', notification: null },
      { state: 'Pending', notification: null },
      { state: 'Pending', notification: null },
      { state: 'Firing', notification: 'firing' },
      { state: 'Firing', notification: null },
      { state: 'Firing', notification: null },
      { state: 'Normal', notification: 'resolved' },
      { state: 'Normal', notification: null },
    ])
  })

  it('restarts the waiting time when the condition ends or data is missing', () => {
    for (const gap of [unmet, noData]) {
      const seen = play([met, met, gap, met, met, met], () => minute / 2, minute)
      expect(seen.map(({ state }) => state).slice(3)).toEqual(['Pending', 'Pending', 'Firing'])
    }
  })

  it('recovers from NoData and Error to whatever the next reading says', () => {
    const next = (reading: Reading, veil: Reading) =>
      play([unmet, veil, reading], () => minute, minute)[2]?.state
    for (const veil of [noData, failed]) {
      expect(next(unmet, veil)).toBe('Normal')
      expect(next(met, veil)).toBe('Pending')
      expect(next(noData, veil)).toBe('NoData')
      expect(next(failed, veil)).toBe('Error')
    }
  })

  it('keeps an episode open through errors: no second notification, and one resolved at the end', () => {
    const seen = play([met, met, failed, met, failed, unmet], () => minute, minute)
    expect(seen.map(({ state }) => state)).toEqual([
      'Pending',
      'Firing',
      'Error',
      'Firing',
      'Error',
      'Normal',
    ])
    expect(seen.map(({ notification }) => notification)).toEqual([
      null,
      'firing',
      null,
      null,
      null,
      'resolved',
    ])
  })

  it('keeps an episode open while there is no data, and ends it when the environment is stopped', () => {
    const seen = play([met, met, noData, met, noData, unmet], () => minute, minute)
    expect(seen.map(({ state }) => state)).toEqual([
      'Pending',
      'Firing',
      'NoData',
      'Firing',
      'NoData',
      'Normal',
    ])
    expect(seen.map(({ notification }) => notification)).toEqual([
      ...[null, 'firing', null, null, null],
      'resolved',
    ])
    const stopped = play([met, met, noData, { kind: 'stopped' }, noData], () => minute, minute)
    expect(stopped.map(({ notification }) => notification)).toEqual([null, 'firing', null, 'resolved', null])
    expect(stopped.at(-1)?.state).toBe('NoData')
  })

  it('keeps the third episode in a row open until it has been calm, and then starts afresh', () => {
    const swing = [met, met, unmet]
    const calm = Array<Reading>(5).fill(unmet)
    const seen = play([...swing, ...swing, ...swing, ...swing, ...calm, ...swing], () => minute, minute)
    expect(seen.flatMap(({ notification }, index) => (notification ? [[index, notification]] : []))).toEqual([
      [1, 'firing'],
      [2, 'resolved'],
      [4, 'firing'],
      [5, 'resolved'],
      [7, 'firing'],
      // Unmet at 8 and 11 is not calm for five minutes: at 16 it is.
      [16, 'resolved'],
      [18, 'firing'],
      [19, 'resolved'],
    ])
    const apart = play([...swing, ...calm, ...swing, ...calm, ...swing], () => minute, minute)
    expect(apart.at(-1)?.notification).toBe('resolved')
  })

  it('never fires because of unobserved time', () => {
    expect(play([met, ...Array<Reading>(1000).fill(met)], () => 0, minute).at(-1)?.state).toBe('Pending')
    expect(play([met, failed, met, failed, met], () => minute, minute).at(-1)?.state).toBe('Pending')
    expect(play([met, met], () => -3_600_000, minute).at(-1)?.state).toBe('Pending')
  })

  it('agrees with a separately written reference on 50,000 random series', () => {
    const kinds: readonly Reading[] = [met, met, met, met, unmet, noData, failed]
    let notifications = 0
    for (let seed = 1; seed <= 50_000; seed += 1) {
      const random = randomOf(seed)
      const length = 1 + Math.floor(random() * 30)
      const sticky = random() * 0.8
      const readings: Reading[] = []
      for (let index = 0; index < length; index += 1) {
        const same = index > 0 && random() < sticky
        readings.push(same ? (readings[index - 1] as Reading) : (kinds[Math.floor(random() * 7)] as Reading))
      }
      const gaps = readings.map(() => (random() < 0.1 ? 0 : Math.floor(random() * 30_000)))
      const durationMs = [minute, 20_000, 5_000][seed % 3] as number
      const clearMs = [20_000, 40_000][seed % 2] as number
      const sinceMs = (index: number) => gaps[index] as number
      const seen = play(readings, sinceMs, durationMs, clearMs)
      const expected = reference(readings, sinceMs, { durationMs, clearMs })
      if (JSON.stringify(seen) !== JSON.stringify(expected))
        expect({ seed, seen }).toEqual({ seed, seen: expected })
      notifications += seen.filter(({ notification }) => notification !== null).length
    }
    expect(notifications).toBeGreaterThan(20_000)
  })
})
