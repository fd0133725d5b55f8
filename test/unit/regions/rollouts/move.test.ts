import { describe, expect, it } from 'vitest'
import type { EnvironmentView, RolloutView } from '../../../../src/regions/rollouts/environment-view.ts'
import { leftBehind, partIn, servesOn } from '../../../../src/regions/rollouts/move.ts'

const nowMs = Date.parse('2026-11-01T12:00:00Z')
const version = (rolloutId: string, region: string, deployedAt: string | null): RolloutView =>
  ({ rollout: { rolloutId, region, deployedAt } }) as RolloutView
const before = version('rol_1', 'local', '2026-11-01T09:00:00.000Z')
const isHere = (region: string) => region === 'local'

type Given = Partial<EnvironmentView> & { region: string; desiredState?: string; useVolume?: boolean }

function view({ region, desiredState = 'running', useVolume = false, ...rest }: Given): EnvironmentView {
  const environment = { region, desiredState, applied: { useVolume } } as EnvironmentView['environment']
  return { environment, current: null, wanted: null, serving: null, pods: [], ...rest } as EnvironmentView
}
const pods = [
  { podId: 'a', region: 'local' },
  { podId: 'b', region: 'eu' },
] as EnvironmentView['pods']

describe('an environment that moves from a machine to a region elsewhere', () => {
  const moving = view({
    region: 'eu',
    current: before,
    serving: before,
    wanted: version('rol_2', 'eu', null),
    pods,
  })
  const moved = (secondsAgo: number, desiredState = 'running', useVolume = false) => {
    const deployedAt = new Date(nowMs - secondsAgo * 1_000).toISOString()
    const current = version('rol_2', 'eu', deployedAt)
    return view({ region: 'eu', desiredState, useVolume, current, serving: current, pods })
  }

  it('has its serving version and containers here, and its next version there', () => {
    expect(partIn(moving, isHere)).toMatchObject({
      current: before,
      serving: before,
      wanted: null,
      pods: [pods[0]],
    })
    const there = partIn(moving, (region) => region === 'eu')
    expect(there).toMatchObject({ current: null, serving: null, pods: [pods[1]] })
    expect(there.wanted?.rollout.rolloutId).toBe('rol_2')
  })

  it('serves on here for a minute after the new version does, unless it was stopped or has a volume', () => {
    const last = partIn(moving, isHere)
    const options = { isHere, nowMs, hasPods: true }
    expect(leftBehind(moved(59), last, options)).toMatchObject({ current: before, pods: [pods[0]] })
    expect(leftBehind(moved(61), last, options)).toMatchObject({ current: null, pods: [pods[0]] })
    expect(servesOn(moved(59, 'stopped'), isHere, nowMs)).toBe(false)
    expect(servesOn(moving, isHere, nowMs)).toBe(false)
    // Its data has moved.
    expect(servesOn(moved(59, 'running', true), isHere, nowMs)).toBe(false)
    expect(servesOn(moved(59), isHere, nowMs)).toBe(true)
  })

  it('is left once its containers here are gone', () => {
    const gone = { ...moved(61), pods: pods.slice(1) }
    expect(leftBehind(gone, null, { isHere, nowMs, hasPods: true })).not.toBeNull()
    expect(leftBehind(gone, null, { isHere, nowMs, hasPods: false })).toBeNull()
  })
})
