import { z } from 'zod'
import { diagnosisCauses } from './diagnosis.ts'
import {
  accountId,
  appId,
  environmentRef,
  expectedRevision,
  id,
  isoTime,
  message,
  pagination,
  revision,
} from './fields.ts'
import { impact } from './impact.ts'
import { metrics } from './metrics.ts'
import { operation } from './operation.ts'
import { policyDecision } from './policy-decision.ts'
import { remediationFields as fields, remediationActions, remediationModes } from './remediation-fields.ts'

export const remediationRunStatuses = [
  'observed',
  'waiting',
  'running',
  'verifying',
  'verified',
  'undone',
  'failed',
  'limited',
  'skipped',
] as const
export type RemediationRunStatus = (typeof remediationRunStatuses)[number]

const remediationId = id.describe('Remediation id')

const remediation = z.object({
  remediationId: z.string(),
  appEnvId: z.string(),
  accountId: z.string(),
  ...fields,
  trigger: z.object({ alertId: z.string().optional(), cause: z.enum(diagnosisCauses).optional() }),
  steps: z.array(z.looseObject({ action: z.enum(remediationActions) })),
  verify: z.object({
    alertNormalWithinSeconds: z.number().optional(),
    healthyWithinSeconds: z.number().optional(),
  }),
  /** The user in whose name, and with whose rights, it acts. */
  actsFor: z.string(),
  /** Why it cannot start, such as a deleted alert; null if it can. */
  problem: z.string().nullable(),
  createdAt: isoTime,
  updatedAt: isoTime,
  revision,
})
export type Remediation = z.output<typeof remediation>

const shownEffects = {
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
  changes: z.array(z.looseObject({ path: z.string() })),
  effects: z.array(z.string()),
  impact,
  policy: policyDecision.nullable(),
}

/** Milliseconds since the epoch, and the value. */
export const picturePoint = z.array(z.number())

export const remediationRun = z.object({
  runId: z.string(),
  remediationId: z.string(),
  appEnvId: z.string(),
  /** The episode of its trigger; a remediation has one run an episode. */
  episode: z.string(),
  status: z.enum(remediationRunStatuses),
  /** One sentence: why it is in this status. */
  reason: z.string(),
  trigger: z.object({
    alertId: z.string().optional(),
    cause: z.enum(diagnosisCauses).optional(),
    name: z.string(),
    startedAt: isoTime,
    /** When its trigger was over; null while it is on. */
    endedAt: isoTime.nullable(),
  }),
  mode: z.enum(remediationModes),
  /** What the steps would have done; only while they were not performed. */
  dryRun: z
    .array(
      z.object({
        action: z.enum(remediationActions),
        ...z.object(shownEffects).partial().shape,
        error: z.string().optional(),
      }),
    )
    .nullable(),
  approvalId: z.string().optional(),
  steps: z.array(
    z.object({
      action: z.enum(remediationActions),
      outcome: z.enum(['done', 'failed', 'undone', 'not-undone']),
      auditId: z.string().nullable(),
      at: isoTime,
      /** The operation that was performed, and its effects or its error. */
      operation: z.string().optional(),
      text: z.string(),
    }),
  ),
  /** The metric of the trigger before and after the steps; null for a cause without one. */
  picture: z
    .object({
      metric: z.enum(metrics),
      unit: z.string(),
      threshold: z.number().nullable(),
      before: z.array(picturePoint),
      after: z.array(picturePoint),
    })
    .nullable(),
  startedAt: isoTime,
  finishedAt: isoTime.nullable(),
})
export type RemediationRun = z.output<typeof remediationRun>

export const createRemediation = operation({
  id: 'create-remediation',
  method: 'POST',
  path: '/app-env/remediation',
  summary:
    'Creates a remediation: steps that an environment takes when an alert fires or a cause is found, verified and undone by its own trigger.',
  policy: { on: 'environment', needs: 'admin' },
  input: z.strictObject({
    ...environmentRef,
    name: fields.name,
    trigger: fields.trigger,
    mode: fields.mode.default('observe'),
    steps: fields.steps,
    notPastHumanChange: fields.notPastHumanChange.default(true),
    minSamples: fields.minSamples.default(3),
    holdSeconds: fields.holdSeconds.default(0),
    coolDownSeconds: fields.coolDownSeconds.default(900),
    atMost: fields.atMost.default({ count: 3, windowSeconds: 86_400 }),
    verify: fields.verify.optional(),
    onFailure: fields.onFailure.default('undo'),
    contactPointIds: fields.contactPointIds.default([]),
  }),
  output: z.object({ ...message, remediation }),
})

export const updateRemediation = operation({
  id: 'update-remediation',
  method: 'PATCH',
  path: '/remediation',
  summary: 'Changes a remediation; omitted fields keep their values.',
  policy: { on: 'remediation', needs: 'admin' },
  input: z.strictObject({ remediationId, ...z.object(fields).partial().shape, expectedRevision }),
  ignored: ['appEnvId', 'accountId', 'actsFor', 'problem', 'createdAt', 'updatedAt', 'revision', 'runs'],
  output: z.object({ ...message, remediation }),
})

export const deleteRemediation = operation({
  id: 'delete-remediation',
  method: 'DELETE',
  path: '/remediation',
  summary: 'Deletes a remediation and its runs permanently. What a run changed stays.',
  policy: { on: 'remediation', needs: 'admin' },
  input: z.strictObject({ remediationId, expectedRevision }),
  output: z.object(message),
})

export const toggleRemediation = operation({
  id: 'toggle-remediation',
  method: 'POST',
  path: '/remediation/toggle',
  summary: 'Turns a remediation off, on again in the mode it had, or to the given mode.',
  policy: { on: 'remediation', needs: 'admin' },
  input: z.strictObject({
    remediationId,
    enabled: z.boolean().optional(),
    mode: fields.mode.optional(),
    expectedRevision,
  }),
  output: z.object({ ...message, enabled: z.boolean(), mode: fields.mode }),
})

export const listRemediations = operation({
  id: 'list-remediations',
  method: 'GET',
  path: '/app-env/remediations',
  summary: 'Lists the remediations of an environment, or of every environment of an app or account.',
  policy: { on: 'environments' },
  input: z.strictObject({
    ...environmentRef,
    accountId: accountId.optional(),
    appId: appId.optional(),
    limit: z.number().int().min(1).max(1_000).default(200),
    offset: z.number().int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({
    remediations: z.array(remediation.extend({ envName: z.string(), lastRun: remediationRun.nullable() })),
    pagination,
  }),
})

export const getRemediation = operation({
  id: 'get-remediation',
  method: 'GET',
  path: '/remediation',
  summary: 'Reads one remediation with its last runs.',
  policy: { on: 'remediation' },
  input: z.strictObject({ remediationId }),
  output: remediation.extend({
    /** The newest 10; list-remediation-runs has the others. */
    runs: z.array(remediationRun),
  }),
})

export const listRemediationRuns = operation({
  id: 'list-remediation-runs',
  method: 'GET',
  path: '/remediation/runs',
  summary: 'Lists the runs of a remediation, newest first.',
  policy: { on: 'remediation' },
  input: z.strictObject({
    remediationId,
    status: z.enum(remediationRunStatuses).optional(),
    limit: z.number().int().min(1).max(200).default(20),
    offset: z.number().int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({ runs: z.array(remediationRun), pagination }),
})

export const getRemediationRun = operation({
  id: 'get-remediation-run',
  method: 'GET',
  path: '/remediation-run',
  summary: 'Reads one run of a remediation: what was seen, what it did, and what happened after.',
  policy: { on: 'remediation-run' },
  input: z.strictObject({ runId: id.describe('Run id') }),
  output: remediationRun,
})
