import type { Budget, Freeze, Rule } from '../../contract/policy.ts'
import type { PolicyEffect } from '../../contract/policy-decision.ts'
import type { Tone } from '../components/Badge.tsx'
import { counted, whole } from '../components/words.ts'

export const effectWords: Record<PolicyEffect, { tone: Tone; name: string }> = {
  allow: { tone: 'ok', name: 'Allow' },
  ask: { tone: 'warn', name: 'Ask a person' },
  deny: { tone: 'bad', name: 'Deny' },
}

export const modeWords = {
  observe: {
    tone: 'warn',
    name: 'Only observed',
    about: 'Nothing is stopped; the activity says what would have been.',
  },
  enforce: { tone: 'ok', name: 'In force', about: 'Every write is decided by these rules.' },
} as const

export const startingWords = {
  open: { name: 'Open', about: 'Everything is allowed.' },
  careful: {
    name: 'Careful',
    about:
      'Agents ask before they lose data, end serving containers of protected environments, or change access or credentials. With budgets. Starts observed.',
  },
  reviewed: { name: 'Reviewed', about: 'Agents only propose; people decide over every write.' },
} as const

export const partNames = {
  rules: { one: 'Rule', many: 'Rules', add: 'Add rule' },
  freezes: { one: 'Freeze', many: 'Freezes', add: 'Add freeze' },
  budgets: { one: 'Budget', many: 'Budgets', add: 'Add budget' },
} as const

/** Labels of the inputs of rules, freezes and budgets, by their place in an entry. */
export const policyFieldNames: Record<string, string> = {
  id: 'Short name',
  effect: 'Effect',
  'who.kinds': 'Callers',
  'who.agents': 'Names of agents',
  'who.surfaces': 'Surfaces',
  'on.operations': 'Operations',
  'on.environments': 'Names of environments',
  'on.apps': 'Names of apps',
  'on.labels': 'Labels of environments',
  'on.protected': 'Protected environments',
  when: 'Conditions on the impact',
  'after.operation': 'Only after this operation',
  'after.withinSeconds': 'Within seconds',
  'approvers.count': 'People who must approve',
  'approvers.needs': 'Their permission',
  'approvers.notRequester': 'Not the requester',
  expiresSeconds: 'Expires after seconds',
  reasonRequired: 'Needs a reason',
  message: 'Message for the caller',
  from: 'From',
  to: 'To',
  'weekly.days': 'Every week on',
  'weekly.from': 'Starts at',
  'weekly.to': 'Ends at',
  timeZone: 'Time zone',
  of: 'For each',
  meter: 'Counts',
  window: 'In',
  soft: 'Warns above',
  hard: 'Limit',
  onHard: 'Above the limit',
}

export const kindNames = {
  person: 'people',
  agent: 'agents',
  environment: 'tokens of environments',
  remediation: 'remediations',
} as const

export const meterNames: Record<Budget['meter'], string> = {
  writes: 'writes',
  deployments: 'deployments',
  restarts: 'restarts',
  deletions: 'deletions',
  secretReads: 'reads of secrets',
  zCloudSeconds: 'zCloud seconds',
  containersEnded: 'containers ended',
}

export const subjectNames: Record<Budget['of'], string> = {
  token: 'token',
  agent: 'agent',
  user: 'person',
  environment: 'environment',
  account: 'account',
}

export const windowNames = { '1h': 'an hour', '24h': 'a day' } as const

export const dayNames = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
} as const

const comparisons: Record<NonNullable<Rule['when']>[number]['is'], string> = {
  eq: 'is',
  ne: 'is not',
  gt: 'is above',
  gte: 'is at least',
  lt: 'is below',
  lte: 'is at most',
  contains: 'includes',
}

/** Whom and what a rule or freeze is about: "agents; environments *-prod; if dataLost is true". */
export function scopeWords({
  who,
  on,
  when,
  after,
}: Partial<Pick<Rule, 'who' | 'on' | 'when' | 'after'>>): string {
  const names = (what: string, list: readonly string[] | undefined) =>
    list === undefined ? [] : [`${what} ${list.join(', ')}`]
  const parts = [
    ...(who?.kinds ? [who.kinds.map((kind) => kindNames[kind]).join(', ')] : []),
    ...names('agents named', who?.agents),
    ...(who?.members ? [counted(who.members.length, 'member')] : []),
    ...(who?.tokens ? [counted(who.tokens.length, 'token')] : []),
    ...names('through', who?.surfaces),
    ...names('operations', on?.operations),
    ...names('environments', on?.environments),
    ...names('apps', on?.apps),
    ...(on?.labels
      ? names(
          'labels',
          Object.entries(on.labels).map((pair) => pair.join('=')),
        )
      : []),
    ...(on?.protected === undefined
      ? []
      : [on.protected ? 'protected environments' : 'unprotected environments']),
    ...(when ?? []).map(({ impact, is, value }) => `if ${impact} ${comparisons[is]} ${String(value)}`),
    ...(after ? [`after ${after.operation} within ${whole(after.withinSeconds)} s`] : []),
  ]
  return parts.length === 0 ? 'Every write' : parts.join('; ')
}

export function freezeWords({ from, to, weekly, timeZone }: Freeze): string {
  const once = [from && `from ${from}`, to && `until ${to}`].filter(Boolean).join(' ')
  const days = weekly
    ? `${weekly.days.map((day) => dayNames[day]).join(', ')} ${weekly.from} to ${weekly.to}`
    : ''
  return `${[days, once].filter(Boolean).join('; ')} (${timeZone})`
}

export function budgetWords({ hard, meter, of, window }: Budget): string {
  return `${whole(hard)} ${meterNames[meter]} in ${windowNames[window]} for each ${subjectNames[of]}`
}
