import { z } from 'zod'
import { instant } from './app-env-reads.ts'
import { accountId, environmentRef, isoTime } from './fields.ts'
import { metrics } from './metrics.ts'
import { operation } from './operation.ts'

/** The closed catalog of causes (docs/interface.md#diagnosis), the most fundamental first. */
export const diagnosisCauses = [
  'engine-away',
  'interrupted',
  'not-supported',
  'image-pull',
  'git-fetch',
  'lost-upload',
  'bad-archive',
  'no-dockerfile',
  'lock-file',
  'build-out-of-memory',
  'build-timeout',
  'build-step',
  'missing-module',
  'missing-file',
  'missing-variable',
  'volume-path',
  'database-down',
  'dependency-refused',
  'disk-full',
  'out-of-memory',
  'bad-command',
  'loopback-bind',
  'wrong-port',
  'start-timeout',
  'exits-at-once',
  'crash-loop',
  'failing-checks',
  'quota',
  'concurrency-saturated',
  'request-timeout',
  'unanswered-requests',
  'error-burst',
  'scale-limit',
  'slow-responses',
  'slow-start',
  'failed-run',
  'copy-waiting',
  'alert-firing',
  'stopped',
  'pending-change',
  'alert-misconfigured',
] as const
export type DiagnosisCause = (typeof diagnosisCauses)[number]

/** `critical`: no requests are served; `warning`: served badly, or the newest deployment failed; `info`: served. */
export const findingSeverities = ['critical', 'warning', 'info'] as const

/**
 * `certain`: the platform recorded the cause itself; `likely`: output of the program names it; `possible`:
 * measured values fit it.
 */
export const findingConfidences = ['certain', 'likely', 'possible'] as const

export const evidenceSources = [
  'deployment',
  'container',
  'build-log',
  'log',
  'request',
  'metric',
  'setting',
  'alert',
  'engine',
] as const

/** `text` may quote output of a tenant's program; known secret values are masked in it. */
export const evidence = z.object({
  source: z.enum(evidenceSources),
  at: isoTime.nullable(),
  text: z.string().optional(),
  value: z.number().optional(),
})
export type Evidence = z.output<typeof evidence>

/** `safe`: no person needs to judge it first (docs/interface.md#safe-fixes). */
export const fix = z.object({
  operation: z.string(),
  input: z.record(z.string(), z.unknown()),
  effects: z.array(z.string()),
  safe: z.boolean(),
})
export type Fix = z.output<typeof fix>

export const finding = z.object({
  cause: z.enum(diagnosisCauses),
  severity: z.enum(findingSeverities),
  confidence: z.enum(findingConfidences),
  summary: z.string(),
  since: isoTime.nullable(),
  evidence: z.array(evidence),
  fix: fix.nullable(),
})
export type Finding = z.output<typeof finding>

export const diagnosedFacts = [
  'status',
  'deployments',
  'containers',
  'logs',
  'metrics',
  'settings',
  'alerts',
  'engine',
] as const

export const diagnoseAppEnv = operation({
  id: 'diagnose-app-env',
  method: 'GET',
  path: '/app-env/diagnosis',
  summary:
    'Why an environment does not work: causes of the catalog with evidence and the call that fixes each, the root cause first.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject(environmentRef),
  output: z.object({
    appEnvId: z.string(),
    healthy: z.boolean(),
    /** The version that takes requests, also while a newer one failed; null if there is none. */
    servingVersion: z.number().nullable(),
    findings: z.array(finding),
    /** The facts that were checked; a fact that could not be read is missing. */
    checked: z.array(z.enum(diagnosedFacts)),
    checkedAt: isoTime,
  }),
})

/** A short summary of an environment that needs attention; diagnose-app-env finds the cause. */
const attention = z.object({
  envName: z.string(),
  severity: z.enum(findingSeverities),
  causes: z.array(z.enum(diagnosisCauses)),
  firingAlerts: z.number(),
  /** The newest version, if its deployment failed and an earlier one serves. */
  rejectedVersion: z.number().optional(),
})
export type Attention = z.output<typeof attention>

export const getAccountHealth = operation({
  id: 'get-account-health',
  method: 'GET',
  path: '/account/health',
  summary: 'What is wrong in an account: counts, and at most the ten worst environments with their causes.',
  policy: { on: 'whole-account' },
  input: z.strictObject({ accountId }),
  output: z.object({
    accountId: z.string(),
    /** No environment is critical or has a warning, and every engine answers. */
    healthy: z.boolean(),
    environments: z.object({
      total: z.number(),
      running: z.number(),
      deploying: z.number(),
      stopped: z.number(),
      critical: z.number(),
      warning: z.number(),
    }),
    /** Without paused ones. */
    alerts: z.object({ total: z.number(), firing: z.number(), noData: z.number(), error: z.number() }),
    regionsAway: z.array(z.string()),
    worst: z.array(attention),
    checkedAt: isoTime,
  }),
})

export const listDiagnosisCauses = operation({
  id: 'diagnosis-causes',
  method: 'GET',
  path: '/diagnosis-causes',
  summary: 'Lists every cause that diagnose-app-env can name, what it means and how to fix it.',
  policy: { on: 'installation', environmentToken: true },
  input: z.strictObject({}),
  output: z.object({
    causes: z.array(z.object({ cause: z.enum(diagnosisCauses), meaning: z.string(), fix: z.string() })),
  }),
  peopleOnly: true,
})

export const changeKinds = [
  'deployment',
  'variables',
  'settings',
  'scale',
  'access',
  'alert',
  'platform',
] as const

export const change = z.object({
  at: isoTime,
  kind: z.enum(changeKinds),
  /** In words of the platform: ids, versions and states. */
  what: z.string(),
  /** Names of variables or fields that changed, never their values. */
  names: z.array(z.string()),
  /** Id of the user or environment that did it; null for the platform itself. */
  by: z.string().nullable(),
  /** The user's name, or e-mail address without one; null for others. */
  byName: z.string().nullable().optional(),
  /** 1 is the likeliest reason of `broke`; null when nothing broke, or the change came after it. */
  rank: z.number().nullable(),
})
export type Change = z.output<typeof change>

export const whatChanged = operation({
  id: 'what-changed',
  method: 'GET',
  path: '/app-env/changes',
  summary:
    'One timeline of deployments, variables (names only), settings, scale, access, alerts and platform events, ranked by how likely they broke a metric.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    from: instant.optional().describe('ISO time; default a day before to'),
    to: instant.optional().describe('Default now'),
  }),
  output: z.object({
    appEnvId: z.string(),
    from: isoTime,
    to: isoTime,
    broke: z
      .object({ metric: z.enum(metrics), at: isoTime, before: z.number(), after: z.number() })
      .nullable(),
    /** Newest first. */
    changes: z.array(change),
    truncated: z.boolean(),
  }),
})
