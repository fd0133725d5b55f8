import { z } from 'zod'
import { surfaces } from './audit.ts'
import { callerKinds } from './caller-kinds.ts'
import { accountId, expectedRevision, id, isoTime, line, revision } from './fields.ts'
import { impact } from './impact.ts'
import { operation } from './operation.ts'
import { policyDecision, policyEffects, policyModes } from './policy-decision.ts'

export const startingPolicies = ['open', 'careful', 'reviewed'] as const
export const budgetMeters = [
  'writes',
  'deployments',
  'restarts',
  'deletions',
  'secretReads',
  'zCloudSeconds',
  'containersEnded',
] as const
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const

const name = z
  .string()
  .regex(
    /^[A-Za-z0-9][\w.-]{0,62}$/,
    'must be 1 to 63 letters, digits, _, - and ., and begin with a letter or digit',
  )
const glob = z.string().min(1).max(140)
const some = <T extends z.ZodType>(item: T) => z.array(item).min(1).max(200)

const who = z.strictObject({
  kinds: some(z.enum(callerKinds)).optional(),
  members: some(id).optional(),
  tokens: some(id).optional(),
  agents: some(glob).optional(),
  surfaces: some(z.enum(surfaces)).optional(),
})

const on = z.strictObject({
  operations: some(glob).optional(),
  environments: some(glob).optional(),
  apps: some(glob).optional(),
  labels: z.record(z.string().min(1).max(63), z.string().max(63)).optional(),
  protected: z.boolean().optional(),
})

const condition = z.strictObject({
  impact: z.string().min(1).max(100),
  is: z.enum(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'contains']),
  value: z.unknown().refine(isScalar, 'must be a text, a number, true, false or null'),
})

const rule = z.strictObject({
  id: name,
  effect: z.enum(policyEffects),
  who: who.optional(),
  on: on.optional(),
  when: some(condition).optional(),
  after: z
    .strictObject({ operation: z.string().max(64), withinSeconds: z.int().min(1).max(604_800) })
    .optional(),
  approvers: z
    .strictObject({
      count: z.int().min(1).max(5).default(1),
      notRequester: z.boolean().default(false),
      needs: z.enum(['admin', 'manageMembers']).optional(),
    })
    .optional(),
  expiresSeconds: z.int().min(60).max(604_800).optional(),
  reasonRequired: z.boolean().optional(),
  message: line(300).optional(),
})

/** A time with its own zone, or a local time in the zone of the freeze. */
const freezeTime = z
  .string()
  .regex(
    /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?$/,
    'must be an ISO 8601 time such as 2030-12-24T18:00, in the time zone of the freeze unless it names its own',
  )
  .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a time that exists')
const clockTime = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 18:00')

const freeze = z
  .strictObject({
    id: name,
    from: freezeTime.optional(),
    to: freezeTime.optional(),
    weekly: z.strictObject({ days: some(z.enum(weekdays)), from: clockTime, to: clockTime }).optional(),
    timeZone: z.string().refine(isTimeZone, 'must be an IANA time zone such as Europe/Berlin'),
    who: who.optional(),
    on: on.optional(),
    message: line(300).optional(),
  })
  .refine(({ from, to, weekly }) => from ?? to ?? weekly, 'needs from, to or weekly')

const budget = z
  .strictObject({
    id: name,
    of: z.enum(['token', 'agent', 'user', 'environment', 'account']),
    meter: z.enum(budgetMeters),
    window: z.enum(['1h', '24h']),
    soft: z.number().min(0).optional(),
    hard: z.number().min(0),
    onHard: z.enum(['ask', 'deny']),
  })
  .refine(({ soft, hard }) => soft === undefined || soft <= hard, 'soft must be at most hard')

const parts = {
  mode: z.enum(policyModes),
  rules: z.array(rule).max(200),
  freezes: z.array(freeze).max(50),
  budgets: z.array(budget).max(50),
}

/** What may be done, and who decides; stored for each account, and in the configuration file for the platform. */
export const policyContent = z
  .strictObject({
    mode: parts.mode.default('enforce'),
    rules: parts.rules.default([]),
    freezes: parts.freezes.default([]),
    budgets: parts.budgets.default([]),
  })
  .superRefine(({ rules, freezes, budgets }, context) => {
    const seen = new Set<string>()
    for (const [part, list] of Object.entries({ rules, freezes, budgets }))
      for (const [index, one] of list.entries()) {
        if (seen.has(one.id))
          context.addIssue({ code: 'custom', path: [part, index, 'id'], message: `${one.id} is taken` })
        seen.add(one.id)
      }
  })
export type PolicyContent = z.output<typeof policyContent>
export type Rule = PolicyContent['rules'][number]
export type Freeze = PolicyContent['freezes'][number]
export type Budget = PolicyContent['budgets'][number]

/** What one caller or environment used of a budget in the window. */
const budgetUse = z.object({
  budgetId: z.string(),
  of: budget.shape.of,
  meter: budget.shape.meter,
  window: budget.shape.window,
  hard: z.number(),
  soft: z.number().nullable(),
  subjectId: z.string().describe('Id of the token, user, environment or account; of an agent the user'),
  agent: z.string().nullable(),
  name: z.string().nullable().describe('Of the user or environment'),
  used: z.number(),
  resetsAt: isoTime.nullable(),
})

/** As read: clients need not know every field of a rule. */
const readFields = {
  mode: parts.mode,
  rules: z.array(z.looseObject({ id: z.string(), effect: z.enum(policyEffects) })),
  freezes: z.array(z.looseObject({ id: z.string(), timeZone: z.string() })),
  budgets: z.array(budget),
}
const policy = z.object({ accountId: z.string(), ...readFields, revision })

export const getPolicy = operation({
  id: 'get-policy',
  method: 'GET',
  path: '/policy',
  summary:
    'Reads the policy of an account: what agents and others may do, what asks, what is denied, and budgets.',
  policy: { on: 'policy' },
  input: z.strictObject({
    accountId,
    withUsage: z.boolean().default(false).describe('Include what was used of budgets (admin)'),
  }),
  output: policy.extend({
    platform: z.object(readFields).nullable().describe('Applies as well; an account can only tighten it'),
    usage: z
      .array(budgetUse)
      .nullable()
      .describe('The most used first; null for others than admins, and without withUsage'),
  }),
})

export const updatePolicy = operation({
  id: 'update-policy',
  method: 'PUT',
  path: '/policy',
  summary: 'Replaces the given parts of the policy of an account. Admin; people only, never an agent.',
  policy: { on: 'policy', needs: 'admin' },
  input: z.strictObject({
    accountId,
    start: z.enum(startingPolicies).optional().describe('Begins with a starting policy'),
    mode: parts.mode.optional(),
    rules: parts.rules.optional(),
    freezes: parts.freezes.optional(),
    budgets: parts.budgets.optional(),
    policy: z
      .strictObject({
        mode: parts.mode.optional(),
        rules: parts.rules.optional(),
        freezes: parts.freezes.optional(),
        budgets: parts.budgets.optional(),
        revision: revision.optional(),
      })
      .optional()
      .describe('The same parts, nested; top-level ones win'),
    expectedRevision,
  }),
  ignored: ['revision', 'platform', 'usage'],
  output: z.object({ message: z.string(), policy }),
  peopleOnly: true,
  needsSecondStep: true,
})

export const explainPolicy = operation({
  id: 'explain-policy',
  method: 'POST',
  path: '/policy/explain',
  summary:
    'Says what would happen to a call of the caller: allow, ask or deny, by which rule, and its impact.',
  policy: { on: 'installation', environmentToken: true },
  input: z.strictObject({
    operation: z.string().max(64).describe('Id of a write, such as delete-app-env'),
    input: z.looseObject({}).describe('Its input'),
  }),
  output: policyDecision.extend({
    operation: z.string(),
    impact: impact.nullable().describe('Null if the call would be refused for another reason'),
  }),
  reads: true,
})

export const replayPolicy = operation({
  id: 'replay-policy',
  method: 'POST',
  path: '/policy/replay',
  summary:
    'Decides the audited writes of the past by a proposed policy: those that it would have held or denied. Admin.',
  policy: { on: 'policy', needs: 'admin' },
  input: z.strictObject({
    accountId,
    policy: policyContent.optional().describe('Left out: the stored policy'),
    from: z.iso.datetime({ offset: true }).optional().describe('Left out: 7 days before to'),
    to: z.iso.datetime({ offset: true }).optional().describe('Left out: now'),
  }),
  output: z.object({
    from: isoTime,
    to: isoTime,
    writes: z.number(),
    effects: z.object({ allow: z.number(), ask: z.number(), deny: z.number() }),
    skipped: z.number().describe('Writes without a recorded impact'),
    truncated: z.boolean().describe('Older writes were left out'),
    entries: z
      .array(
        z.object({
          entryId: z.string(),
          timestamp: isoTime,
          operation: z.string(),
          objectId: z.string(),
          caller: z.enum(callerKinds),
          agent: z.string().nullable(),
          effect: z.enum(policyEffects),
          ruleId: z.string().nullable(),
          message: z.string().nullable(),
        }),
      )
      .describe('Those not allowed, oldest first'),
  }),
  reads: true,
  peopleOnly: true,
})

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return true
  } catch {
    return false
  }
}

function isScalar(value: unknown): boolean {
  return (
    value === null ||
    ['number', 'boolean'].includes(typeof value) ||
    (typeof value === 'string' && value.length <= 200)
  )
}
