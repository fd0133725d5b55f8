import { describe, expect, it } from 'vitest'
import type { ProbeLevel } from '../../../src/contract/function-probe.ts'
import {
  coldStartSeconds,
  defaultProbeConcurrency,
  type ProbeMeasurements,
  probeChecks,
  probeProposal,
  probeSteps,
} from '../../../src/domain/functions/probe.ts'

const settings = {
  containerConcurrency: 20,
  timeoutSeconds: 60,
  idleTimeoutSeconds: 900,
  responseStartTimeoutSeconds: 60,
  minScale: 0,
  maxScale: 3,
}

function level(concurrency: number, p95Seconds: number, change: Partial<ProbeLevel> = {}): ProbeLevel {
  const base = { concurrency, requests: 50, ok: 50, answered4xx: 0, answered5xx: 0, refused: 0, failed: 0 }
  return { ...base, requestsPerSecond: 100, p50Seconds: p95Seconds / 2, p95Seconds, containers: 1, ...change }
}

function measurements(change: Partial<ProbeMeasurements> = {}): ProbeMeasurements {
  const first = { seconds: 0.3, ok: true }
  return { containersBefore: 0, mostContainers: 2, first, levels: [], loadSeconds: 5, ...change }
}

const held = (change: Partial<ProbeMeasurements>, changed = {}) =>
  Object.fromEntries(
    probeChecks(measurements(change), { ...settings, ...changed }).map(({ rule, holds }) => [rule, holds]),
  )

describe('what a probe says', () => {
  it('doubles the load up to just more than one container takes', () => {
    expect(probeSteps(24)).toEqual([1, 2, 4, 8, 16, 24])
    expect(probeSteps(1)).toEqual([1])
    expect(probeSteps(8)).toEqual([1, 2, 4, 8])
    expect(defaultProbeConcurrency({ containerConcurrency: 20 })).toBe(24)
    expect(defaultProbeConcurrency({ containerConcurrency: 0 })).toBe(50)
    expect(defaultProbeConcurrency({ containerConcurrency: 1000 })).toBe(100)
  })

  it('F1 F2 sees them only when the function stood at zero', () => {
    expect(held({})).toMatchObject({ F1: true, F2: true })
    expect(held({ first: { seconds: 9, ok: false } })).toMatchObject({ F1: true, F2: false })
    expect(held({ containersBefore: 1 })).toMatchObject({ F1: null, F2: null })
    expect(coldStartSeconds(measurements())).toBe(0.3)
    expect(coldStartSeconds(measurements({ containersBefore: 1 }))).toBeNull()
    expect(coldStartSeconds(measurements({ first: { seconds: 9, ok: false } }))).toBeNull()
  })

  it('F3 says whether a container was added before the slots ran out', () => {
    const levels = [level(24, 0.1)]
    expect(held({ levels }).F3).toBe(true)
    expect(held({ levels, mostContainers: 1 }).F3).toBe(false)
    expect(held({ levels, mostContainers: 1, loadSeconds: 0.5 }).F3).toBeNull()
    expect(held({ levels: [level(4, 0.1)], mostContainers: 1 }).F3).toBeNull()
    expect(held({ levels, mostContainers: 1 }, { maxScale: 1 }).F3).toBeNull()
  })

  it('proposes the most one container takes before its latency doubles', () => {
    const levels = [level(1, 0.1), level(2, 0.11), level(4, 0.15), level(8, 0.31), level(16, 0.6)]
    expect(probeProposal(measurements({ levels }), settings)).toMatchObject({
      containerConcurrency: 4,
      because: [expect.stringContaining('0.1 s alone to 0.31 s at 8'), expect.any(String)],
    })
  })

  it('counts refusals and errors as too much', () => {
    const levels = [level(1, 0.1), level(2, 0.1), level(4, 0.1, { ok: 40, refused: 10 })]
    expect(probeProposal(measurements({ levels }), settings).containerConcurrency).toBe(2)
  })

  it('leaves what was not measured as it is', () => {
    const growing = [level(1, 0.1, { containers: 1 }), level(8, 0.9, { containers: 2 })]
    expect(probeProposal(measurements({ levels: growing }), settings).containerConcurrency).toBe(20)
    expect(probeProposal(measurements({ levels: [] }), settings).containerConcurrency).toBe(20)
    const calm = [level(1, 0.002), level(16, 0.02)]
    expect(probeProposal(measurements({ levels: calm }), settings).containerConcurrency).toBe(20)
    const alone = [level(1, 0.1), level(2, 0.9)]
    const one = { ...settings, containerConcurrency: 1 }
    expect(probeProposal(measurements({ levels: alone }), one).containerConcurrency).toBe(1)
  })

  it('tells what one of several containers takes by its share of the load', () => {
    const two = { containers: 2 }
    const levels = [level(1, 0.1, two), level(4, 0.11, two), level(8, 0.15, two), level(16, 0.4, two)]
    expect(probeProposal(measurements({ levels }), settings)).toMatchObject({
      containerConcurrency: 4,
      because: [expect.stringContaining('0.1 s alone to 0.4 s at 8'), expect.any(String)],
    })
  })

  it('judges nothing by the latency of errors, and says so', () => {
    const nowhere = [level(1, 0.001, { ok: 0, answered4xx: 50 }), level(8, 0.1, { ok: 0, answered4xx: 50 })]
    expect(probeProposal(measurements({ levels: nowhere }), settings)).toMatchObject({
      containerConcurrency: 20,
      because: [expect.stringContaining('100 of 100 were answered 4xx'), expect.any(String)],
    })
    const broken = [level(1, 0.001, { ok: 0, answered5xx: 50 })]
    expect(probeProposal(measurements({ levels: broken }), settings).because[0]).toContain(
      '50 of 50 failed; get-logs',
    )
  })

  it('proposes a warm container only for a cold start that people feel', () => {
    const slow = { first: { seconds: 2.5, ok: true } }
    expect(probeProposal(measurements(slow), settings).minScale).toBe(1)
    expect(probeProposal(measurements(), settings).minScale).toBe(0)
    expect(probeProposal(measurements({ ...slow, containersBefore: 1 }), settings).minScale).toBe(0)
    expect(probeProposal(measurements(slow), { ...settings, minScale: 2 }).minScale).toBe(2)
  })
})
