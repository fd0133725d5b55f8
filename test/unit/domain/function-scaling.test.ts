import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  comfortableConcurrency,
  containersNeeded,
  decideScale,
  initialScalingState,
  type ScalingSettings,
  type ScalingState,
  stableWindowSeconds,
  withoutDemand,
} from '../../../src/domain/functions/scaling.ts'

const settings: ScalingSettings = {
  containerConcurrency: 10,
  idleTimeoutSeconds: 300,
  minScale: 0,
  maxScale: 5,
}

/** Simulates load with the rule on an injected clock; containers start `startMs` after they are requested. */
function simulate(
  load: (nowMs: number) => number,
  untilMs: number,
  options: { settings?: ScalingSettings; stepMs?: number; startMs?: number; clockScale?: number } = {},
) {
  const rule = options.settings ?? settings
  const steps: { nowMs: number; load: number; desired: number; ready: number }[] = []
  let state: ScalingState = initialScalingState
  let ready = 0
  let lastRequestMs: number | null = null
  const wanted: { atMs: number; desired: number }[] = []
  let due = 0
  for (let nowMs = 0; nowMs <= untilMs; nowMs += options.stepMs ?? 500) {
    const concurrency = load(nowMs)
    if (concurrency > 0) lastRequestMs = nowMs
    const slots = rule.containerConcurrency || Number.POSITIVE_INFINITY
    const inFlight = Math.min(concurrency, ready === 0 ? 0 : ready * slots)
    const input = { nowMs, inFlight, queued: concurrency - inFlight, peak: concurrency, lastRequestMs, ready }
    state = decideScale(state, input, rule, options.clockScale)
    wanted.push({ atMs: nowMs, desired: state.desired })
    while (wanted[0] && wanted[0].atMs + (options.startMs ?? 1000) <= nowMs) due = wanted.shift()!.desired
    // Containers start late and stop at once, but never one with a request in it.
    const busy = Math.ceil(inFlight / slots)
    ready = Math.max(state.desired < ready ? state.desired : Math.min(due, state.desired), busy)
    steps.push({ nowMs, load: concurrency, desired: state.desired, ready })
  }
  return steps
}

const changes = (steps: { desired: number }[]) =>
  steps.filter((step, index) => index > 0 && step.desired !== steps[index - 1]!.desired).length

const minutes = (count: number) => count * 60_000

describe('desired containers of a function', () => {
  it('F1 scales to zero after the idle period, not a moment before, and only once', () => {
    const steps = simulate((nowMs) => (nowMs < 10_000 ? 1 : 0), minutes(20))
    const lastRequestMs = 9_500
    const zero = steps.find((step) => step.nowMs > lastRequestMs && step.desired === 0)!
    expect(zero.nowMs).toBe(lastRequestMs + 300_000)
    expect(changes(steps)).toBe(1)
  })

  it('F1 never scales to zero under a request that lasts longer than the idle period', () => {
    const steps = simulate((nowMs) => (nowMs < minutes(60) ? 1 : 0), minutes(70))
    expect(steps.filter((step) => step.load > 0).every((step) => step.desired === 1)).toBe(true)
    expect(steps.at(-1)!.desired).toBe(0)
  })

  it('F2 wants one container for one request at zero', () => {
    const state = decideScale(
      initialScalingState,
      { nowMs: 5, inFlight: 0, queued: 1, peak: 1, lastRequestMs: 5, ready: 0 },
      settings,
    )
    expect(state.desired).toBe(1)
  })

  it('F2 answers a burst at zero with one decision that holds', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 20 }),
        (burst, containerConcurrency, maxScale) => {
          const rule = { ...settings, containerConcurrency, maxScale }
          const steps = simulate((nowMs) => (nowMs < 30_000 ? burst : 0), 50_000, { settings: rule })
          expect(new Set(steps.map((step) => step.desired)).size).toBe(1)
          const enough = Math.ceil(burst / containerConcurrency)
          expect(steps[0]!.desired).toBeGreaterThanOrEqual(Math.min(maxScale, enough))
        },
      ),
    )
  })

  it('F2 does not start more than a burst needs at three quarters of the slots', () => {
    expect(containersNeeded(50, { containerConcurrency: 10, maxScale: 100 })).toBe(7)
    expect(containersNeeded(200, { containerConcurrency: 20, maxScale: 3 })).toBe(3)
    expect(containersNeeded(1, { containerConcurrency: 1, maxScale: 3 })).toBe(1)
  })

  it('F3 adds a container before the last slot is taken', () => {
    const needed = (concurrency: number) =>
      containersNeeded(concurrency, { containerConcurrency: 10, maxScale: 5 })
    expect(needed(7)).toBe(1)
    expect(needed(8)).toBe(2)
    expect(needed(15)).toBe(2)
    expect(needed(16)).toBe(3)
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 1000 }),
        fc.integer({ min: 1, max: 100 }),
        (slots, containers) => {
          const askedAt = comfortableConcurrency(containers, slots) + 1
          expect(askedAt).toBeLessThan(slots * containers)
          expect(containersNeeded(askedAt, { containerConcurrency: slots, maxScale: 1000 })).toBe(
            containers + 1,
          )
          expect(containersNeeded(askedAt - 1, { containerConcurrency: slots, maxScale: 1000 })).toBe(
            containers,
          )
        },
      ),
    )
  })

  it('F3 needs the fewest comfortable containers, grows with the load and stops at maxScale', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3000 }),
        fc.integer({ min: 0, max: 200 }),
        fc.integer({ min: 1, max: 300 }),
        (concurrency, containerConcurrency, maxScale) => {
          const rule = { containerConcurrency, maxScale }
          const needed = containersNeeded(concurrency, rule)
          expect(needed).toBeLessThanOrEqual(maxScale)
          expect(containersNeeded(concurrency + 1, rule)).toBeGreaterThanOrEqual(needed)
          if (needed > 1)
            expect(comfortableConcurrency(needed - 1, containerConcurrency)).toBeLessThan(concurrency)
          if (needed > 0 && needed < maxScale)
            expect(comfortableConcurrency(needed, containerConcurrency)).toBeGreaterThanOrEqual(concurrency)
        },
      ),
    )
  })

  it('F3 spreads a function without a concurrency limit at a soft hundred', () => {
    expect(containersNeeded(75, { containerConcurrency: 0, maxScale: 5 })).toBe(1)
    expect(containersNeeded(76, { containerConcurrency: 0, maxScale: 5 })).toBe(2)
  })

  it('F11 keeps minScale warm with no request ever and after the idle period', () => {
    const warm = { ...settings, minScale: 2 }
    const steps = simulate((nowMs) => (nowMs === minutes(10) ? 40 : 0), minutes(60), { settings: warm })
    expect(Math.min(...steps.map((step) => step.desired))).toBe(2)
    expect(steps[0]!.desired).toBe(2)
    expect(steps.at(-1)!.desired).toBe(2)
  })

  it('scales down when the need stayed lower for the stable window', () => {
    const steps = simulate((nowMs) => (nowMs < 30_000 ? 40 : 3), minutes(5))
    const down = steps.find((step) => step.nowMs > 1000 && step.desired < 5)!
    expect(down.nowMs).toBeGreaterThanOrEqual(29_500 + stableWindowSeconds * 1000)
    expect(down.nowMs).toBeLessThanOrEqual(31_000 + stableWindowSeconds * 1000)
    expect(down.desired).toBe(1)
  })

  it('does not flap under a square wave shorter than the stable window', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 110 }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 0, max: 60 }),
        (periodSeconds, high, low) => {
          const period = periodSeconds * 1000
          const wave = (nowMs: number) => (nowMs % period < period / 2 ? Math.max(high, low) : low)
          const steps = simulate(wave, minutes(120), { stepMs: 1000 })
          // One decision at the start, for the rest of two hours none.
          expect(changes(steps)).toBe(0)
        },
      ),
      { numRuns: 30 },
    )
  })

  it('holds its limits over hours of any load', () => {
    const phase = fc.record({
      seconds: fc.integer({ min: 1, max: 900 }),
      load: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 120 })),
    })
    fc.assert(
      fc.property(
        fc.array(phase, { minLength: 1, maxLength: 24 }),
        fc.integer({ min: 0, max: 2 }),
        fc.integer({ min: 2, max: 8 }),
        fc.integer({ min: 0, max: 30 }),
        (phases, minScale, maxScale, containerConcurrency) => {
          const rule = { ...settings, minScale, maxScale, containerConcurrency }
          const load = loadOf(phases)
          const total = phases.reduce((sum, part) => sum + part.seconds, 0) * 1000
          const steps = simulate(load, total + 400_000, { settings: rule, stepMs: 1000 })
          const outside = steps.filter((step) => step.desired < minScale || step.desired > maxScale)
          expect(outside).toEqual([])
          const starved = steps.filter((step) => step.desired < containersNeeded(step.load, rule))
          expect(starved).toEqual([])
          const awake = steps.filter((step) => step.nowMs >= total + 301_000 && step.desired !== minScale)
          expect(awake).toEqual([])
        },
      ),
      { numRuns: 60 },
    )
  })

  it('divides idle period and window by the clock scale', () => {
    const steps = simulate((nowMs) => (nowMs < 100 ? 40 : nowMs < 1000 ? 1 : 0), 2000, {
      stepMs: 10,
      startMs: 10,
      clockScale: 1000,
    })
    expect(steps.find((step) => step.desired === 1)!.nowMs).toBe(150)
    expect(steps.find((step) => step.nowMs > 500 && step.desired === 0)!.nowMs).toBe(1290)
  })

  it('detects a peak that came and went between two decisions', () => {
    const state = decideScale(
      initialScalingState,
      { nowMs: 1000, inFlight: 0, queued: 0, peak: 30, lastRequestMs: 990, ready: 0 },
      settings,
    )
    expect(state.desired).toBe(4)
  })

  it('keeps containers it finds running for a window, then one until idle', () => {
    let state = initialScalingState
    const at = (nowMs: number) => {
      state = decideScale(
        state,
        { nowMs, inFlight: 0, queued: 0, peak: 0, lastRequestMs: null, ready: 3 },
        settings,
      )
      return state.desired
    }
    expect(at(0)).toBe(3)
    expect(at(59_000)).toBe(3)
    expect(at(61_000)).toBe(1)
    expect(at(299_000)).toBe(1)
    expect(at(300_000)).toBe(0)
    // They have not left yet, and that is no reason to want them again.
    expect(at(301_000)).toBe(0)
  })

  it('drops past demand after a failed start, and a new request triggers another start', () => {
    let state = decideScale(
      initialScalingState,
      { nowMs: 0, inFlight: 0, queued: 9, peak: 9, lastRequestMs: 0, ready: 0 },
      settings,
    )
    expect(state.desired).toBe(2)
    state = withoutDemand(settings)
    const quiet = { nowMs: 10, inFlight: 0, queued: 0, peak: 0, lastRequestMs: 5, ready: 0 }
    expect(decideScale(state, quiet, settings).desired).toBe(0)
    expect(decideScale(state, { ...quiet, queued: 1, peak: 1 }, settings).desired).toBe(1)
  })
})

function loadOf(phases: { seconds: number; load: number }[]) {
  return (nowMs: number) => {
    let end = 0
    for (const part of phases) {
      end += part.seconds * 1000
      if (nowMs < end) return part.load
    }
    return 0
  }
}
