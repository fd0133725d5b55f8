import { z } from 'zod'
import { alertStates } from './alerts.ts'
import { logLine } from './app-env-reads.ts'
import { auditEntry } from './audit.ts'
import { change, diagnosedFacts, finding } from './diagnosis.ts'
import { environmentRef, id, isoTime } from './fields.ts'
import { metrics } from './metrics.ts'
import { operation } from './operation.ts'
import { picturePoint, remediationRun } from './remediations.ts'

const alertOfIncident = z.object({
  alertId: z.string(),
  name: z.string(),
  metric: z.enum(metrics),
  operator: z.string(),
  threshold: z.number(),
  duration: z.string(),
  enabled: z.boolean(),
  state: z.enum(alertStates),
  /** Its changes of state within the time of the incident, newest first. */
  changes: z.array(
    z.object({
      from: z.enum(alertStates),
      to: z.enum(alertStates),
      at: isoTime,
      value: z.number().nullable(),
    }),
  ),
})

export const getIncident = operation({
  id: 'get-incident',
  method: 'GET',
  path: '/app-env/incident',
  summary:
    'Everything about one episode of an environment: timeline, findings, logs, metrics, alerts, remediation runs and audit entries.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    episodeId: id
      .optional()
      .describe('The newest episode of an alert, or one with a remediation run; default: the newest of all'),
  }),
  output: z.object({
    appEnvId: z.string(),
    envName: z.string(),
    /** Null if no alert fired and no remediation ran yet: then it is about the last hour. */
    episodeId: z.string().nullable(),
    /** The alert or cause that began it. */
    name: z.string(),
    startedAt: isoTime,
    /** Null while it lasts. */
    endedAt: isoTime.nullable(),
    /** The time that the parts are about. */
    from: isoTime,
    to: isoTime,
    servingVersion: z.number().nullable(),
    /** What diagnosis finds now. */
    findings: z.array(finding),
    checked: z.array(z.enum(diagnosedFacts)),
    /** Newest first. */
    timeline: z.array(change),
    alerts: z.array(alertOfIncident),
    runs: z.array(remediationRun),
    metrics: z.array(
      z.object({
        metric: z.enum(metrics),
        unit: z.string(),
        /** Of the alert on it; null without one. */
        threshold: z.number().nullable(),
        points: z.array(picturePoint),
      }),
    ),
    /** Output around its beginning; known secret values are masked. */
    logs: z.array(logLine),
    /** Of the environment, newest first; empty for callers who may not read the audit log. */
    audit: z.array(auditEntry),
    createdAt: isoTime,
  }),
})
