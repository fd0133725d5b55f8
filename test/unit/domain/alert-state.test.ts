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

function play(readings: readonly Reading[], sinceMs: (index: number) => number, durationMs: number): Seen[] {
  let progress: AlertProgress = newAlertProgress
  return readings.map((reading, index) => {
    const step = nextAlertState(progress, reading, { sinceMs: sinceMs(index), durationMs })
    progress = step.progress
    return { state: progress.state, notification: step.notification }
  })
}

/**
 * An independent formulation of the rules, from the whole history at once: a run is a period in which no reading is
 * "not met" or "no data"; within it, time counts between adjacent readings that are both met; the run fires when that
 * time first reaches the duration, and the end of the run resolves it. Errors only hide the state.
 */
function reference(
  readings: readonly Reading[],
  sinceMs: (index: number) => number,
  durationMs: number,
): Seen[] {
  const isMet = (index: number) => {
    const reading = readings[index]
    return reading?.kind === 'value' && reading.isMet
  }
  const ends = (index: number) => {
    const reading = readings[index] as Reading
    return reading.kind === 'no-data' || (reading.kind === 'value' && !reading.isMet)
  }
  const firesAt = (start: number): number => {
    let held = 0
    for (let index = start; index < readings.length && !ends(index); index += 1) {
      if (index === start || !isMet(index) || !isMet(index - 1)) continue
      held += sinceMs(index)
      if (held >= durationMs) return index
    }
    return Number.POSITIVE_INFINITY
  }
  const startOfRun = (index: number): number => {
    let start = index
    while (start > 0 && !ends(start - 1)) start -= 1
    return start
  }
  return readings.map((reading, index) => {
    const before = index > 0 && !ends(index - 1) ? firesAt(startOfRun(index - 1)) : Number.POSITIVE_INFINITY
    if (ends(index)) {
      const state = reading.kind === 'no-data' ? 'NoData' : 'Normal'
      return { state, notification: before < index ? 'resolved' : null }
    }
    const fires = firesAt(startOfRun(index))
    if (reading.kind === 'error') return { state: 'Error', notification: null }
    return { state: fires <= index ? 'Firing' : 'Pending', notification: fires === index ? 'firing' : null }
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

  it('ends an episode when data stops arriving, and notifies', () => {
    const seen = play([met, met, noData, met, met], () => minute, minute)
    expect(seen.map(({ notification }) => notification)).toEqual([null, 'firing', 'resolved', null, 'firing'])
    expect(seen[2]?.state).toBe('NoData')
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
      const sinceMs = (index: number) => gaps[index] as number
      const seen = play(readings, sinceMs, durationMs)
      const expected = reference(readings, sinceMs, durationMs)
      if (JSON.stringify(seen) !== JSON.stringify(expected))
        expect({ seed, seen }).toEqual({ seed, seen: expected })
      notifications += seen.filter(({ notification }) => notification !== null).length
    }
    expect(notifications).toBeGreaterThan(20_000)
  })
})
