import { z } from 'zod'
import { accountId, id, isoTime, line, lines, message, revision } from './fields.ts'
import { impact } from './impact.ts'
import { operation } from './operation.ts'

export const approvalStatuses = [
  'pending',
  'approved',
  'executed',
  'failed',
  'denied',
  'expired',
  'stale',
  'withdrawn',
] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]

const callerKinds = ['person', 'agent', 'environment', 'remediation'] as const

/** Who must agree: how many people, whether the requester may be one of them, and the permission they need. */
export const approvers = z.object({
  count: z.int().min(1).max(5),
  notRequester: z.boolean(),
  needs: z.enum(['admin', 'manageMembers']).optional(),
})
export type Approvers = z.output<typeof approvers>

/** With `before` and `after`, of any type. */
const change = z.looseObject({ path: z.string() })

/** One operation of a plan, with the effects that people decide over. Secrets are masked. */
const step = z.object({
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
  changes: z.array(change),
  effects: z.array(z.string()),
  impact,
})
export type ApprovalStep = z.output<typeof step>

const decision = z.object({
  userId: z.string(),
  surface: z.string(),
  at: isoTime,
  decision: z.enum(['approve', 'deny']),
  comment: z.string().nullable(),
})
export type ApprovalDecision = z.output<typeof decision>

/** The outcome of one step: its answer, or its error. */
const result = z.object({
  answer: z.record(z.string(), z.unknown()).optional(),
  error: z.string().optional(),
  details: z.string().optional(),
  auditId: z.string().nullable(),
})
export type ApprovalResult = z.output<typeof result>

const approval = z.object({
  approvalId: z.string(),
  accountId: z.string(),
  title: z.string(),
  steps: z.array(step),
  actionDigest: z.string().describe('SHA-256 of the exact calls'),
  reviewDigest: z.string().describe('SHA-256 of the calls and their effects as shown; decisions name it'),
  requestedBy: z.object({
    userId: z.string().nullable(),
    name: z.string().nullable(),
    kind: z.enum(callerKinds),
    agent: z.string().nullable(),
    tokenId: z.string().nullable(),
    sessionId: z.string().nullable(),
    remediationRunId: z.string().optional(),
  }),
  reason: z.string().nullable(),
  ruleId: z.string().nullable().describe('The policy rule that asks; null for a plan that was proposed'),
  approvers,
  url: z.string(),
  createdAt: isoTime,
  expiresAt: isoTime,
  status: z.enum(approvalStatuses),
  replacedBy: z.string().nullable().describe('The newer approval, after refresh-approval'),
  decisions: z.array(decision.extend({ name: z.string().nullable().describe('Of the user') })),
  results: z.array(result),
  moved: z
    .array(z.object({ type: z.string(), id: z.string() }))
    .describe('Objects that changed since it was shown, while it waits'),
  revision,
})
export type Approval = z.output<typeof approval>

/** A line of the list: get-approval shows the rest. */
const summary = approval
  .pick({
    approvalId: true,
    title: true,
    status: true,
    requestedBy: true,
    reason: true,
    ruleId: true,
    url: true,
    createdAt: true,
    expiresAt: true,
  })
  .extend({ operations: z.array(z.string()) })

/** The 202 of a write that a policy rule asks about. */
export const approvalPending = approval
  .pick({ approvalId: true, status: true, url: true, expiresAt: true, ruleId: true, approvers: true })
  .extend(step.pick({ changes: true, effects: true, impact: true }).shape)
export type ApprovalPendingBody = z.output<typeof approvalPending>

const approvalId = id.describe('See list-approvals')

export const mostSteps = 20

export const proposePlan = operation({
  id: 'propose-plan',
  method: 'POST',
  path: '/plan',
  summary:
    'Proposes up to 20 writes as one plan that a person approves or denies as a whole. Nothing changes before. A caller may propose what it may not do.',
  policy: { on: 'account' },
  input: z.strictObject({
    accountId,
    title: line(200),
    reason: lines(2000).optional(),
    steps: z
      .array(
        z.strictObject({
          operation: z.string().max(64).describe('Operation id'),
          input: z.record(z.string(), z.unknown()),
        }),
      )
      .min(1)
      .max(mostSteps),
  }),
  output: approval,
  proposes: true,
})

export const getApproval = operation({
  id: 'get-approval',
  method: 'GET',
  path: '/approval',
  summary: 'Reads one approval: its steps, effects, decisions and results. Can wait until it is decided.',
  policy: { on: 'approval' },
  input: z.strictObject({
    approvalId,
    waitSeconds: z.int().min(0).max(50).optional().describe('Wait that long for a decision'),
  }),
  output: approval,
})

export const listApprovals = operation({
  id: 'list-approvals',
  method: 'GET',
  path: '/approvals',
  summary: 'Lists the approvals of an account, newest first.',
  policy: { on: 'account' },
  input: z.strictObject({
    accountId,
    status: z.enum(approvalStatuses).optional(),
    limit: z.int().min(1).max(200).default(50),
    offset: z.int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({
    approvals: z.array(summary),
    /** Approvals that wait for a decision. */
    pending: z.number(),
    total: z.number(),
  }),
})

export const withdrawApproval = operation({
  id: 'withdraw-approval',
  method: 'POST',
  path: '/approval/withdraw',
  summary: 'Withdraws a pending approval, so that no decision can run it. By its requester, or an admin.',
  policy: { on: 'approval' },
  input: z.strictObject({ approvalId }),
  output: z.object({ ...message, approvalId: z.string(), status: z.enum(approvalStatuses) }),
  proposes: true,
})

export const refreshApproval = operation({
  id: 'refresh-approval',
  method: 'POST',
  path: '/approval/refresh',
  summary: 'Replaces an approval that is pending or stale by a new one that shows the effects as of now.',
  policy: { on: 'approval' },
  input: z.strictObject({ approvalId }),
  output: approval,
  peopleOnly: true,
})

export const decideApproval = operation({
  id: 'decide-approval',
  method: 'POST',
  path: '/approval/decide',
  summary:
    'Approves or denies an approval. For people only. The last approval that it needs runs its steps at once, in the name of the requester.',
  policy: { on: 'approval' },
  input: z.strictObject({
    approvalId,
    reviewDigest: z.string().max(100).describe('As read with get-approval: what the person saw'),
    decision: z.enum(['approve', 'deny']),
    comment: lines(2000).optional(),
  }),
  output: z.object({ ...message, approval }),
  peopleOnly: true,
  needsSecondStep: true,
})
