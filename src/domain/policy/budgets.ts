import type { Impact } from '../../contract/impact.ts'
import type { Budget } from '../../contract/policy.ts'
import type { PolicyCall } from './call.ts'

const windowSeconds = { '1h': 3_600, '24h': 86_400 } as const
/** Buckets of one window: a use counts until its whole bucket is older than the window. */
const bucketsOf = { '1h': 60, '24h': 96 } as const

/** Units that a call takes of one budget, counted under `key`. */
export interface Charge {
  budget: Budget
  key: string
  units: number
}

/** Used units by the start of their bucket, in seconds since 1970. */
export type Usage = Readonly<Record<string, number>>

/** The charges of a call; none for reads of no secrets and other calls without an effect on a meter. */
export function chargesOf(budgets: readonly Budget[], call: PolicyCall): Charge[] {
  return budgets.flatMap((budget) => {
    const units = unitsOf(budget, call)
    return units > 0
      ? subjectsOf(budget, call).map((subject) => ({ budget, key: keyOf(budget, subject), units }))
      : []
  })
}

function keyOf({ id, of, meter, window }: Budget, subject: string): string {
  return [id, of, meter, window, subject].join(' ')
}

/** Whom a stored key counts for, if it is one of this budget; null for a key of another one. */
export function subjectIn(budget: Budget, key: string): string | null {
  const start = keyOf(budget, '')
  return key.startsWith(start) ? key.slice(start.length) : null
}

function subjectsOf({ of }: Budget, { caller, environments, accountId }: PolicyCall): string[] {
  if (of === 'environment') return [...new Set(environments.map(({ appEnvId }) => appEnvId))]
  const subject = {
    token: caller.tokenId,
    agent: caller.agentKey,
    user: caller.userId,
    account: accountId,
  }[of]
  return subject === null ? [] : [subject]
}

function unitsOf({ meter, window }: Budget, { impact }: PolicyCall): number {
  const one = (...actions: Impact['actions']) =>
    impact.actions.some((action) => actions.includes(action)) ? 1 : 0
  switch (meter) {
    case 'writes':
      return impact.actions.every((action) => action === 'reveal-secret') ? 0 : 1
    case 'deployments':
      return one('deploy', 'rollback')
    case 'restarts':
      return one('restart')
    case 'deletions':
      return one('delete-object', 'delete-data')
    case 'secretReads':
      return one('reveal-secret')
    case 'containersEnded':
      return impact.containersEnded
    // What the added size costs in one window.
    case 'zCloudSeconds':
      return Math.max(0, impact.zCloudsDelta) * windowSeconds[window]
  }
}

function bucketSeconds({ window }: Budget): number {
  return windowSeconds[window] / bucketsOf[window]
}

/**
 * The units in the window, and when the oldest of them end to count. Buckets after `at` count as well: a clock that was
 * set back gives nothing back.
 */
export function usedOf(budget: Budget, usage: Usage, at: string): { used: number; resetsAt: string | null } {
  const oldest = Math.floor(Date.parse(at) / 1000) - windowSeconds[budget.window]
  const counted = Object.entries(usage).filter(([start]) => Number(start) + bucketSeconds(budget) > oldest)
  if (counted.length === 0) return { used: 0, resetsAt: null }
  const first = Math.min(...counted.map(([start]) => Number(start)))
  const end = first + bucketSeconds(budget) + windowSeconds[budget.window]
  return {
    used: counted.reduce((sum, [, units]) => sum + units, 0),
    resetsAt: new Date(end * 1000).toISOString(),
  }
}

/** The usage with the units added, without buckets that no longer count. */
export function withUnits(budget: Budget, usage: Usage, { at, units }: { at: string; units: number }): Usage {
  const nowSeconds = Math.floor(Date.parse(at) / 1000)
  const oldest = nowSeconds - windowSeconds[budget.window]
  const kept = Object.entries(usage).filter(([start]) => Number(start) + bucketSeconds(budget) > oldest)
  const now = String(nowSeconds - (nowSeconds % bucketSeconds(budget)))
  const next: Record<string, number> = Object.fromEntries(kept)
  next[now] = (next[now] ?? 0) + units
  return next
}
