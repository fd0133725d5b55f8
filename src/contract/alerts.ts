import { z } from 'zod'
import { instant } from './app-env-reads.ts'
import { contactPointTypes } from './contact-points.ts'
import {
  accountId,
  appId,
  environmentRef,
  expectedRevision,
  id,
  isoTime,
  line,
  lines,
  message,
  pagination,
  revision,
} from './fields.ts'
import { metrics } from './metrics.ts'
import { operation } from './operation.ts'

export const alertStates = ['Normal', 'Pending', 'Firing', 'NoData', 'Error'] as const
export type AlertState = (typeof alertStates)[number]

const alertOperators = ['gt', 'lt'] as const
export const alertDurations = ['1m', '5m', '10m', '15m', '30m', '1h'] as const
export const alertAggregations = ['mean', 'max', 'min', 'last'] as const
export const alertQueryRanges = ['5m', '10m', '15m', '30m', '1h', '2h'] as const

const alertId = id.describe('Alert id')
const contactPointIds = z.array(id).max(50)
const description = lines(500)

/** Fields of an alert that the caller chooses (2.7). */
const chosen = {
  name: line(100),
  metric: z.enum(metrics),
  operator: z.enum(alertOperators),
  threshold: z.number().min(-1e15).max(1e15).describe('In the unit of the metric'),
  duration: z.enum(alertDurations).describe('How long the condition must hold'),
  contactPointIds,
}

/** An alert (2.7). `lastStateCheck` is null before the first evaluation. */
const alert = z.object({
  alertId: z.string(),
  appEnvId: z.string(),
  accountId: z.string(),
  name: z.string(),
  description: z.string(),
  metric: z.enum(metrics),
  operator: z.enum(alertOperators),
  threshold: z.number(),
  duration: z.enum(alertDurations),
  aggregation: z.enum(alertAggregations),
  queryRange: z.enum(alertQueryRanges),
  contactPointIds: z.array(z.string()),
  contactPoints: z.array(
    z.object({ contactPointId: z.string(), name: z.string(), type: z.enum(contactPointTypes) }),
  ),
  enabled: z.boolean(),
  lastKnownState: z.enum(alertStates),
  lastStateCheck: isoTime.nullable(),
  region: z.string(),
  createdAt: isoTime,
  updatedAt: isoTime,
  revision,
})
export type Alert = z.output<typeof alert>

const sentNotification = z.object({
  at: isoTime,
  contactPointId: z.string(),
  ok: z.boolean(),
  reason: z.string().optional(),
})

const stateChange = z.object({
  from: z.enum(alertStates),
  to: z.enum(alertStates),
  at: isoTime,
  /** The value that was compared; null without samples. */
  value: z.number().nullable(),
})

const alertDetails = alert.extend({
  /** The value the condition is compared with now; null without samples. */
  currentValue: z.number().nullable(),
  unit: z.string(),
  /** The episode whose beginning receivers were notified of, and its end not yet; absent if there is none. */
  openEpisode: z.object({ episodeId: z.string(), startedAt: isoTime, flapping: z.boolean() }).optional(),
  /** The newest 20; list-alert-state-changes has the others. */
  stateHistory: z.array(stateChange),
  /** The newest 20; list-alert-notifications has the others. */
  notifications: z.array(sentNotification),
})
export type AlertDetails = z.output<typeof alertDetails>

export const listAlerts = operation({
  id: 'list-alerts',
  method: 'GET',
  path: '/app-env/alerts',
  summary:
    'Lists the alerts of an environment, or of every environment of an app or account, firing ones first.',
  policy: { on: 'environments' },
  input: z.strictObject({
    ...environmentRef,
    accountId: accountId.optional(),
    appId: appId.optional(),
    state: z.enum(alertStates).optional().describe('Leaves out paused alerts'),
    limit: z.number().int().min(1).max(1000).optional().describe('Default 200; all of one environment'),
    offset: z.number().int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({
    /** With the cliEnvName of their environment where several environments are listed. */
    alerts: z.array(alert.extend({ envName: z.string().optional() })),
    /** Left out where one environment is listed without `limit`. */
    pagination: pagination.optional(),
  }),
})

export const getAlert = operation({
  id: 'get-alert',
  method: 'GET',
  path: '/alert',
  summary: 'Reads one alert: state, current value, last state changes and notifications.',
  policy: { on: 'alert' },
  input: z.strictObject({ alertId }),
  output: alertDetails,
})

export const listAlertStateChanges = operation({
  id: 'list-alert-state-changes',
  method: 'GET',
  path: '/alert/state-changes',
  summary: 'Lists the state changes of an alert that are kept, 31 days and at most 2,000, newest first.',
  policy: { on: 'alert' },
  input: z.strictObject({
    alertId,
    from: instant.optional().describe('Only changes from this time on'),
    limit: z.number().int().min(1).max(2_000).default(20),
    offset: z.number().int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({
    changes: z.array(stateChange),
    /** From this time on, no change is missing. */
    completeFrom: isoTime,
    pagination,
  }),
  peopleOnly: true,
})

export const listAlertNotifications = operation({
  id: 'list-alert-notifications',
  method: 'GET',
  path: '/alert/notifications',
  summary: 'Lists the attempted notifications of an alert, newest first.',
  policy: { on: 'alert' },
  input: z.strictObject({
    alertId,
    limit: z.number().int().min(1).max(200).default(20),
    offset: z.number().int().min(0).max(1_000_000).default(0),
  }),
  output: z.object({ notifications: z.array(sentNotification), pagination }),
  peopleOnly: true,
})

export const createAlert = operation({
  id: 'create-alert',
  method: 'POST',
  path: '/app-env/alert',
  summary: 'Creates an alert on a metric of an environment. A dry run reports how often it would have fired.',
  policy: { on: 'environment', needs: 'admin' },
  input: z.strictObject({
    ...environmentRef,
    ...chosen,
    description: description.optional(),
    aggregation: z.enum(alertAggregations).default('mean'),
    queryRange: z.enum(alertQueryRanges).default('10m'),
  }),
  output: z.object({
    ...message,
    alert: alert.pick({
      alertId: true,
      name: true,
      metric: true,
      operator: true,
      threshold: true,
      duration: true,
      aggregation: true,
      queryRange: true,
      enabled: true,
      lastKnownState: true,
      contactPoints: true,
    }),
  }),
})

export const updateAlert = operation({
  id: 'update-alert',
  method: 'PATCH',
  path: '/alert',
  summary: 'Changes an alert; omitted fields keep their values. enabled false pauses it.',
  policy: { on: 'alert', needs: 'admin' },
  input: z.strictObject({
    alertId,
    name: chosen.name.optional(),
    description: description.optional(),
    metric: chosen.metric.optional(),
    operator: chosen.operator.optional(),
    threshold: chosen.threshold.optional(),
    duration: chosen.duration.optional(),
    aggregation: z.enum(alertAggregations).optional(),
    queryRange: z.enum(alertQueryRanges).optional(),
    contactPointIds: contactPointIds.optional(),
    enabled: z.boolean().optional(),
    expectedRevision,
  }),
  ignored: [
    'appEnvId',
    'accountId',
    'contactPoints',
    'lastKnownState',
    'lastStateCheck',
    'region',
    'createdAt',
    'updatedAt',
    'revision',
    'currentValue',
    'unit',
    'openEpisode',
    'stateHistory',
    'notifications',
  ],
  output: z.object({ ...message, alert }),
})

export const deleteAlert = operation({
  id: 'delete-alert',
  method: 'DELETE',
  path: '/alert',
  summary: 'Deletes an alert and its history permanently.',
  policy: { on: 'alert', needs: 'admin' },
  input: z.strictObject({ alertId, expectedRevision }),
  output: z.object(message),
})

export const toggleAlert = operation({
  id: 'toggle-alert',
  method: 'POST',
  path: '/alert/toggle',
  summary: 'Pauses an alert, which stops evaluation and notifications, or resumes it.',
  policy: { on: 'alert', needs: 'admin' },
  input: z.strictObject({ alertId, enabled: z.boolean(), expectedRevision }),
  output: z.object({ ...message, enabled: z.boolean() }),
})

export const refreshAlert = operation({
  id: 'refresh-alert',
  method: 'POST',
  path: '/alert/refresh',
  summary: 'Evaluates an alert now and returns its state.',
  policy: { on: 'alert' },
  input: z.strictObject({ alertId, expectedRevision }),
  output: z.object({
    state: z.enum(alertStates),
    previousState: z.enum(alertStates),
    lastStateCheck: isoTime,
  }),
})
