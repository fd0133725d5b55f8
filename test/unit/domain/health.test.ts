import { expect, it } from 'vitest'
import { healthSentence } from '../../../src/contract/health-words.ts'
import type { Environment, PodRecord, Rollout } from '../../../src/domain/environments/environment.ts'
import { healthOf, loopSince } from '../../../src/domain/environments/health.ts'

const now = '2026-03-01T12:00:00.000Z'
const ago = (seconds: number) => new Date(Date.parse(now) - seconds * 1_000).toISOString()

const rollout = {
  rolloutId: 'rol_1',
  status: 'DEPLOYED',
  createdAt: ago(900),
  deployedAt: ago(880),
} as Rollout

function pod(change: Partial<PodRecord> = {}): PodRecord {
  const made = { rolloutId: 'rol_1', desiredState: 'run', status: 'Running', ready: true, restartCount: 0 }
  return { ...made, lastTermination: null, createdAt: ago(900), readyAt: ago(890), ...change } as PodRecord
}

function health(pods: PodRecord[], change: Partial<Parameters<typeof healthOf>[0]> = {}) {
  const environment = { desiredState: 'running', updatedAt: ago(900) } as Environment
  return healthOf({
    environment,
    isFunction: false,
    serving: rollout,
    wanted: null,
    pods,
    nowMs: Date.parse(now),
    ...change,
  })
}

const ended = (exitCode: number, reason: string, seconds: number) => ({
  lastTermination: { exitCode, reason, finishedAt: ago(seconds) },
})

it('is HEALTHY since its containers were ready', () => {
  expect(health([pod()])).toEqual({ verdict: 'HEALTHY', since: ago(890), restarts: 0, lastExit: null })
})

it('is CRASH_LOOP after two exits within five minutes, also while a container is ready', () => {
  const crashed = pod({ restartCount: 2, exits: [ago(200), ago(60)], ...ended(3, 'Error', 60) })
  const found = health([crashed])
  expect(found).toMatchObject({ verdict: 'CRASH_LOOP', since: ago(200), restarts: 2, lastExit: { code: 3 } })
  expect(found && healthSentence(found)).toBe('Its containers keep exiting: 2 exits, the last with code 3.')
  const long = pod({ restartCount: 2, exits: [ago(800), ago(60)], ...ended(3, 'Error', 60) })
  expect(health([long])?.verdict).toBe('HEALTHY')
})

it('is OOM_LOOP if the last exit was for lack of memory', () => {
  const crashed = pod({ ready: false, exits: [ago(20), ago(5)], ...ended(137, 'OOMKilled', 5) })
  expect(health([crashed])?.verdict).toBe('OOM_LOOP')
})

it('counts the containers of a function together, ended ones included', () => {
  const gone = { desiredState: 'gone', ready: false } as const
  const pods = [5, 20].map((seconds) =>
    pod({ ...gone, exits: [ago(seconds)], ...ended(1, 'Error', seconds) }),
  )
  expect(health(pods, { isFunction: true })).toMatchObject({ verdict: 'CRASH_LOOP', restarts: 2 })
})

it('is FAILING_CHECKS or UNREACHABLE while one container is', () => {
  const unhealthy = (reason: string) =>
    health([pod(), pod({ ready: false, unhealthy: { reason, message: '', since: ago(9) } })])
  expect(unhealthy('failing-checks')).toMatchObject({ verdict: 'FAILING_CHECKS', since: ago(9) })
  expect(unhealthy('unreachable')?.verdict).toBe('UNREACHABLE')
  expect(unhealthy('start-timeout')?.verdict).toBe('UNREACHABLE')
})

it('is STARTING until a first version has its verdict', () => {
  const tried = { ...rollout, status: 'DEPLOYING', stability: { since: ago(3), exits: 0 } } as Rollout
  expect(health([pod()], { serving: tried, wanted: tried })?.verdict).toBe('STARTING')
  expect(health([], { serving: null, wanted: tried })?.verdict).toBe('STARTING')
})

it('is IDLE for a function at zero, and null for what should not run', () => {
  const gone = pod({ desiredState: 'gone', ready: false, finishedAt: ago(30) })
  expect(health([gone], { isFunction: true })).toMatchObject({ verdict: 'IDLE', since: ago(30) })
  expect(health([gone])?.verdict).toBe('STARTING')
  const environment = { desiredState: 'stopped' } as Environment
  expect(health([pod()], { environment })).toBeNull()
})

it('does not look at containers of other versions', () => {
  const other = pod({ rolloutId: 'rol_0', exits: [ago(9), ago(5)], ...ended(1, 'Error', 5) })
  expect(health([pod(), other])).toMatchObject({ verdict: 'HEALTHY', lastExit: null })
})

it('the start of a loop stays while exits follow each other, and begins again after a long life', () => {
  expect(loopSince({}, ago(0))).toBe(ago(0))
  expect(loopSince({ exits: [ago(60)] }, ago(0))).toBe(ago(60))
  expect(loopSince({ exits: [ago(60)], loopSince: ago(9_000) }, ago(0))).toBe(ago(9_000))
  expect(loopSince({ exits: [ago(400)], loopSince: ago(9_000) }, ago(0))).toBe(ago(0))
  const looping = pod({ exits: [ago(60), ago(5)], loopSince: ago(9_000), ...ended(1, 'Error', 5) })
  expect(health([looping])).toMatchObject({ verdict: 'CRASH_LOOP', since: ago(9_000) })
})

it('is UNREACHABLE while a first version listens on another port', () => {
  const wanted = { ...rollout, status: 'DEPLOYING' } as Rollout
  const listensElsewhere = { message: 'The app listens on 0.0.0.0:3000.', since: ago(2) }
  const starting = pod({ ready: false, listensElsewhere })
  expect(health([starting], { serving: null, wanted })).toMatchObject({
    verdict: 'UNREACHABLE',
    since: ago(2),
  })
})
