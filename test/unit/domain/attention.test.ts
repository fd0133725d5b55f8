import { encode } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import type { DiagnosisCause } from '../../../src/contract/diagnosis.ts'
import {
  type AttentionFacts,
  attentionOf,
  withinAnswer,
  worstOf,
} from '../../../src/domain/diagnosis/attention.ts'
import type { PodRecord } from '../../../src/domain/environments/environment.ts'

const nowMs = Date.parse('2026-03-01T12:00:00.000Z')
const ago = (seconds: number) => new Date(nowMs - seconds * 1_000).toISOString()

function pod(of: Partial<PodRecord>): PodRecord {
  return {
    podId: 'pod_1',
    name: 'shop-1',
    appEnvId: 'env_1',
    rolloutId: 'rol_1',
    contentId: 'dep_1',
    region: 'local',
    desiredState: 'run',
    status: 'Running',
    ready: true,
    restartCount: 0,
    lastTermination: null,
    cpuMillicores: 500,
    memoryMb: 512,
    nodeName: 'local',
    createdAt: ago(600),
    startedAt: ago(600),
    finishedAt: null,
    ...of,
  }
}

const attention = (of: Partial<AttentionFacts>) =>
  attentionOf({
    envName: 'shop',
    kind: 'app',
    status: 'RUNNING',
    desiredState: 'running',
    currentRolloutId: 'rol_1',
    failed: null,
    traffic: null,
    pods: [pod({})],
    firingAlerts: 0,
    pendingSince: null,
    isRefreshed: false,
    nowMs,
    ...of,
  })
const ended = (seconds: number, reason = 'Error') => ({
  lastTermination: { exitCode: 1, reason, finishedAt: ago(seconds) },
})
const shown = (of: Partial<AttentionFacts>) => {
  const found = attention(of)
  return found && [found.severity, ...found.causes]
}

describe('what an environment needs attention for', () => {
  it('is nothing while its containers are ready', () => {
    expect(attention({})).toBeNull()
    expect(attention({ kind: 'function', pods: [] }), 'scaled to zero').toBeNull()
    expect(attention({ kind: 'job', pods: [] })).toBeNull()
    expect(attention({ status: 'STOPPED', desiredState: 'stopped', pods: [] })).toBeNull()
  })

  it('is a crash loop, memory or its database, by how containers end', () => {
    const looping = { ready: false, restartCount: 3 }
    expect(shown({ pods: [pod({ ...looping, ...ended(5) })] })).toEqual(['critical', 'crash-loop'])
    expect(shown({ pods: [pod({ ...looping, ...ended(5, 'OOMKilled') })] })).toEqual([
      'critical',
      'out-of-memory',
    ])
    expect(shown({ kind: 'database', pods: [pod({ ...looping, ...ended(5) })] })).toEqual([
      'critical',
      'database-down',
    ])
    expect(shown({ pods: [pod({ podId: 'pod_2' }), pod({ ...looping, ...ended(5) })] })).toEqual([
      'warning',
      'crash-loop',
    ])
    expect(shown({ pods: [pod({ restartCount: 1, ...ended(5) })] }), 'one end, up again').toBeNull()
    expect(shown({ pods: [pod({ restartCount: 9, ...ended(700) })] }), 'long ago').toBeNull()
  })

  it('is a failing health check, and another cause where the container says so', () => {
    const unhealthy = (reason: string) => ({ reason, message: '', since: ago(20) })
    const failing = (reason: string) => pod({ ready: false, unhealthy: unhealthy(reason) })
    expect(shown({ pods: [failing('failing-checks')] })).toEqual(['critical', 'failing-checks'])
    expect(shown({ pods: [failing('unreachable'), pod({})] })).toEqual(['warning', 'failing-checks'])
    expect(shown({ pods: [failing('wrong-port')] })).toEqual(['critical', 'wrong-port'])
  })

  it('is a slow start only after ten seconds, and not of a version that is being deployed', () => {
    const starting = (seconds: number) => [pod({ ready: false, startedAt: ago(seconds) })]
    expect(shown({ pods: starting(9) })).toBeNull()
    expect(shown({ pods: starting(10) })).toEqual(['critical', 'slow-start'])
    expect(
      shown({ pods: [pod({}), ...starting(60).map((one) => ({ ...one, rolloutId: 'rol_2' }))] }),
    ).toBeNull()
    expect(shown({ status: 'PENDING', currentRolloutId: null, pods: starting(60) })).toBeNull()
  })

  it('is a deployment whose program listens elsewhere, and what serves while one is under way', () => {
    const listensElsewhere = { message: 'listens on 3000', since: ago(3) }
    const waits = pod({ podId: 'pod_2', rolloutId: 'rol_2', ready: false, listensElsewhere })
    expect(shown({ status: 'PENDING', currentRolloutId: null, pods: [waits] })).toEqual([
      'critical',
      'wrong-port',
    ])
    expect(shown({ status: 'UPDATING', pods: [pod({}), waits] })).toEqual(['warning', 'wrong-port'])
    const looping = pod({ ready: false, restartCount: 3, ...ended(5) })
    expect(shown({ status: 'UPDATING', pods: [looping] })).toEqual(['critical', 'crash-loop'])
  })

  it('is a failed deployment: critical where nothing serves, and without a cause where none is recorded', () => {
    expect(shown({ failed: { version: 2, reason: 'build step' } })).toEqual(['warning', 'build-step'])
    const down = { status: 'STOPPED', desiredState: 'stopped', currentRolloutId: null, pods: [] } as const
    expect(shown({ ...down, failed: { version: 2, reason: 'wrong-port' } })).toEqual([
      'critical',
      'wrong-port',
    ])
    expect(shown({ ...down, failed: { version: 2, reason: 'a reason of later' } })).toEqual(['critical'])
  })

  it('is a change that has been pending for an hour', () => {
    expect(shown({ pendingSince: ago(3_599) })).toBeNull()
    expect(shown({ pendingSince: ago(3_600) })).toEqual(['info', 'pending-change'])
    expect(shown({ pendingSince: ago(1), isRefreshed: true }), 'at once').toEqual(['info', 'pending-change'])
  })

  it('puts the worst first, at most ten', () => {
    const one = (envName: string, severity: 'critical' | 'warning', firingAlerts: number) => ({
      envName,
      severity,
      causes: [],
      firingAlerts,
    })
    const many = Array.from({ length: 12 }, (_, index) => one(`e${index}`, 'warning', index))
    const worst = worstOf([...many, one('down', 'critical', 0)])
    expect(worst.map(({ envName }) => envName)).toEqual('down e11 e10 e9 e8 e7 e6 e5 e4 e3'.split(' '))
    expect(withinAnswer(worst)).toEqual(worst)
  })

  it('leaves out the least bad ones that an answer of 500 tokens has no room for', () => {
    const list = (nameLength: number) =>
      Array.from({ length: 10 }, (_, index) => ({
        envName: 'q7x-'.repeat(16).slice(0, nameLength),
        severity: 'warning' as const,
        causes: ['concurrency-saturated', 'unanswered-requests'] as const satisfies DiagnosisCause[],
        firingAlerts: 12,
        rejectedVersion: 120 + index,
      }))
    for (const nameLength of [4, 16, 26, 40, 63]) {
      const shown = withinAnswer(list(nameLength))
      // The counts, and the sentence before them, which names the first.
      const rest = 140 + encode(shown[0]!.envName).length
      expect(encode(JSON.stringify(shown)).length + rest, `${nameLength}`).toBeLessThanOrEqual(500)
      expect(shown.length).toBeGreaterThanOrEqual(3)
    }
  })
})

it('requests of the last minute need attention; a rejected deployment differs from a failing service', () => {
  const traffic = (failed: number, unanswered: number) => ({ seconds: 60, requests: 20, failed, unanswered })
  expect(shown({ traffic: traffic(15, 0) })).toEqual(['critical', 'error-burst'])
  expect(shown({ traffic: traffic(0, 4) })).toEqual(['warning', 'unanswered-requests'])
  expect(attention({ traffic: traffic(1, 1) })).toBeNull()
  const failed = { version: 2, reason: 'exited' }
  expect(attention({ failed })).toMatchObject({ severity: 'warning', rejectedVersion: 2 })
  expect(attention({ failed, status: 'STOPPED', pods: [] })?.rejectedVersion).toBeUndefined()
})

it('environments that never served leave the places to those that did, and an outage of one that did stands first', () => {
  const one = (envName: string, severity: 'critical' | 'warning') => ({
    envName,
    severity,
    causes: [],
    firingAlerts: 0,
  })
  const never = Array.from({ length: 10 }, (_, index) => one(`new-${index}`, 'critical'))
  const found = [...never, one('slow', 'warning'), one('down', 'critical')]
  const names = worstOf(found, new Set(never.map(({ envName }) => envName))).map(({ envName }) => envName)
  expect(names[0]).toBe('down')
  expect(names).toContain('slow')
})
