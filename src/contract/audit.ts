import { z } from 'zod'
import { callerKinds } from './caller-kinds.ts'
import { accountId, environmentRef, id, isoTime } from './fields.ts'
import { impact } from './impact.ts'
import { operation } from './operation.ts'
import { policyDecision } from './policy-decision.ts'

export const auditOutcomes = ['done', 'refused'] as const
export type AuditOutcome = (typeof auditOutcomes)[number]

export const surfaces = ['rest', 'mcp', 'cli', 'console', 'link', 'chat'] as const
export type Surface = (typeof surfaces)[number]

export const confirmers = ['host', 'model'] as const
export type ConfirmedBy = (typeof confirmers)[number]

/** The chat user behind a call from a chat. */
const chatOrigin = z.object({ connectionId: z.string(), workspace: z.string(), user: z.string() })
export type ChatOrigin = z.output<typeof chatOrigin>

export const auditEntry = z.object({
  entryId: z.string(),
  timestamp: isoTime,
  principal: z.object({
    kind: z.enum(['user', 'environment', 'platform']),
    id: z.string(),
    name: z.string().nullable(),
    email: z.string().nullable(),
  }),
  surface: z.enum(surfaces),
  /** Token of the call; of a console session, the token that signed in. Null in entries of an older version. */
  tokenId: z.string().nullable(),
  /** Name of the agent: as it signed in with OAuth, else as it names itself (not verified); null for other callers. */
  agent: z.string().nullable(),
  /**
   * What answered the question before a destructive tool call: the `host`, by elicitation, or the `model`, with `confirm`.
   * Never a person's approval: a host may answer by itself. Null without a question.
   */
  confirmedBy: z.enum(confirmers).nullable(),
  /** Agent session of the call; null if the caller named none. */
  sessionId: z.string().nullable(),
  /** The approval that the call ran by; null without one. */
  approvalId: z.string().nullable(),
  /** Trace of the call, as in the request log; null in entries of an older version. */
  traceId: z.string().nullable(),
  /** Address of the client, by the word of trusted proxies; null in entries of an older version. */
  clientAddress: z.string().nullable(),
  /** The chat user and workspace of a call from a chat; null for other surfaces. */
  chat: chatOrigin.nullable(),
  operation: z.string(),
  objectType: z.string(),
  objectId: z.string(),
  /** The object's name in the recorded change, a cliEnvName for an environment; null if none is recorded. */
  objectName: z.string().nullable(),
  outcome: z.enum(auditOutcomes),
  /** For an undo: the entry that it undid. */
  /** The run of a remediation that it belongs to; null for other calls. */
  remediationRunId: z.string().nullable(),
  undid: z.object({ entryId: z.string(), operation: z.string(), timestamp: isoTime }).nullable(),
  /** Null for refused calls, changes that follow from another one, and entries of an older version. */
  impact: impact.nullable(),
  /** Who acted; null in entries of an older version, and of changes that follow from another one. */
  callerKind: z.enum(callerKinds).nullable(),
  /** What the policies decided, or would have; null if there were none. */
  policy: policyDecision.nullable(),
  /** Values as text: strings unchanged, other values as JSON, null for an absent value. */
  changes: z.array(
    z.object({ path: z.string(), before: z.string().nullable(), after: z.string().nullable() }),
  ),
})

export const listAudit = operation({
  id: 'list-audit',
  method: 'GET',
  path: '/audit',
  summary: 'Lists audit entries, newest first: caller, origin and changed paths (secrets masked). Admin.',
  policy: { on: 'account', needs: 'admin' },
  input: z.strictObject({
    accountId,
    objectId: id.optional().describe('Only entries of this object: an id or a cliEnvName'),
    principalId: id.optional().describe('Only entries of this user (id or e-mail) or environment'),
    tokenId: id.optional().describe('Only entries of this token'),
    sessionId: id.optional().describe('Only entries of this agent session'),
    traceId: z.string().max(32).optional().describe('Only entries of this trace'),
    approvalId: id.optional().describe('Only entries of the steps of this approval'),
    agent: z.string().max(100).optional().describe('Only entries of the agent with this name'),
    surface: z.enum(surfaces).optional(),
    outcome: z.enum(auditOutcomes).optional(),
    limit: z.number().int().min(1).max(200).default(50),
    cursor: z.string().max(64).optional(),
  }),
  output: z.object({ entries: z.array(auditEntry), cursor: z.string().nullable() }),
})

export const undoChange = operation({
  id: 'undo-change',
  method: 'POST',
  path: '/audit/undo',
  summary: 'Restores the fields that one audit entry changed, unless they changed again since. Admin.',
  policy: { on: 'audit-entry', needs: 'admin' },
  input: z.strictObject({ entryId: id.describe('See list-audit') }),
  output: z.object({
    message: z.string(),
    objectType: z.string(),
    objectId: z.string(),
    undone: z.array(z.string()),
  }),
  needsSecondStep: true,
})

export const explainAccess = operation({
  id: 'explain-access',
  method: 'GET',
  path: '/app-env/access',
  summary:
    'Shows who can do what on an environment and by which rule. Without Manage Members: only the caller.',
  policy: { on: 'environment' },
  input: z.strictObject(environmentRef),
  output: z.object({
    appEnvId: z.string(),
    enabled: z.boolean(),
    complete: z.boolean().describe('Whether every member is listed'),
    members: z.array(
      z.object({
        membershipId: z.string(),
        email: z.string(),
        name: z.string(),
        operates: z.boolean(),
        seesSecrets: z.boolean(),
        changesAlerts: z.boolean(),
        configuresAccess: z.boolean(),
        because: z.array(z.string()),
      }),
    ),
  }),
})
