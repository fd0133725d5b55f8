import { z } from 'zod'
import { accountId, environmentRef, id, isoTime } from './fields.ts'
import { operation } from './operation.ts'

const outcomes = ['done', 'refused'] as const
export type AuditOutcome = (typeof outcomes)[number]

const auditEntry = z.object({
  entryId: z.string(),
  timestamp: isoTime,
  principal: z.object({
    kind: z.enum(['user', 'environment', 'platform']),
    id: z.string(),
    name: z.string().nullable(),
    email: z.string().nullable(),
  }),
  surface: z.string(),
  operation: z.string(),
  objectType: z.string(),
  objectId: z.string(),
  outcome: z.enum(outcomes),
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
    objectId: id.optional().describe('Only entries of this object'),
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
