import { describe, expect, it } from 'vitest'
import type { Finding } from '../../../src/contract/diagnosis.ts'
import { diagnose } from '../../../src/domain/diagnosis/diagnose.ts'
import type { Facts } from '../../../src/domain/diagnosis/facts.ts'
import { withSafety } from '../../../src/domain/diagnosis/safe-fix.ts'
import { fullApp } from '../../../testkit/diagnosis/full-app.ts'

const nowMs = 600_000
const iso = (seconds: number) => new Date(seconds * 1_000).toISOString()
const serving = {
  rolloutId: 'rol_1',
  version: 2,
  status: 'DEPLOYED',
  createdAt: iso(0),
  deployedAt: iso(1),
} as never
const quiet: Facts = { ...fullApp, nowMs, metrics: null, serving, latest: serving, current: serving }
const pending = { pendingFields: ['envVars'], pendingVariables: ['MODE'], pendingSince: iso(500) }
const crashing = {
  ...{
    name: 'shop-1',
    rolloutId: 'rol_1',
    desiredState: 'run',
    status: 'Pending',
    ready: false,
    restartCount: 4,
  },
  ...{ startedAt: iso(590), lastTermination: { finishedAt: iso(595), exitCode: 1, reason: 'Error' } },
} as never
const fixes = (facts: Partial<Facts>) =>
  Object.fromEntries(diagnose({ ...quiet, ...facts }).map(({ cause, fix }) => [cause, fix]))

describe('a fix is safe', () => {
  it('never while it puts in force what another user saved', () => {
    expect(fixes(pending)['pending-change']?.safe).toBe(true)
    expect(fixes({ ...pending, foreignPending: ['MODE'] })['pending-change']?.safe).toBe(false)
  })

  it('never beside another finding: a pending change of a person and a crash loop', () => {
    const found = fixes({ ...pending, pods: [crashing], previous: { version: 1, ranWell: true } })
    expect(found['pending-change']).toMatchObject({ operation: 'apply-app-env-changes', safe: false })
    // The rollback leaves the change pending.
    expect(found['crash-loop']).toMatchObject({
      operation: 'redeploy-app-env',
      input: { version: 1 },
      safe: true,
    })
  })

  it('never when it replaces a threshold', () => {
    const alert = { alertId: 'alr_1', warnings: ['It always fires.'], updatedAt: iso(1) }
    const safe = (correction: Record<string, unknown>) =>
      fixes({ alerts: [{ ...alert, correction }] })['alert-misconfigured']?.safe
    expect(safe({ threshold: 2 })).toBe(false)
    expect(safe({ contactPointIds: ['cp_1'], threshold: 2 })).toBe(false)
    expect(safe({ contactPointIds: ['cp_1'] })).toBe(true)
  })

  it('only where the fault suite shows that it heals the cause', () => {
    const finding = (cause: Finding['cause'], operation: string): Finding => ({
      ...{ cause, severity: 'warning', confidence: 'certain', summary: '', since: null, evidence: [] },
      fix: { operation, input: {}, effects: [], safe: true },
    })
    const safe = (cause: Finding['cause'], operation: string) =>
      withSafety(quiet, finding(cause, operation), []).fix?.safe
    expect(safe('crash-loop', 'redeploy-app-env')).toBe(true)
    expect(safe('disk-full', 'redeploy-app-env')).toBe(false)
    expect(safe('crash-loop', 'restart-app-env')).toBe(false)
  })
})
