import { z } from 'zod'
import { instant } from './app-env-reads.ts'
import { accountId, environmentRef, isoTime } from './fields.ts'
import { metrics } from './metrics.ts'
import { operation } from './operation.ts'

export const getAppEnvMetrics = operation({
  id: 'get-app-env-metrics',
  method: 'GET',
  path: '/app-env/metrics',
  summary: 'Reads the current measurements: CPU, memory, containers, requests, errors, latencies.',
  policy: { on: 'environment' },
  input: z.strictObject(environmentRef),
  output: z.object({
    appEnvId: z.string(),
    timestamp: isoTime,
    resources: z
      .object({
        cpu: z.object({ allocatedMillicores: z.number(), usedMillicores: z.number(), percent: z.number() }),
        memory: z.object({ allocatedMb: z.number(), usedMb: z.number(), percent: z.number() }),
      })
      .nullable(),
    containers: z.object({ desired: z.number(), running: z.number(), ready: z.number() }),
    ingress: z.object({
      requestRate: z.number(),
      rate4xx: z.number(),
      rate5xx: z.number(),
      p95LatencySeconds: z.number(),
      p99LatencySeconds: z.number(),
    }),
  }),
})

export const getAppEnvMetricsSeries = operation({
  id: 'get-app-env-metrics-series',
  method: 'GET',
  path: '/app-env/metrics-series',
  summary: 'Reads one metric over time, up to seven days back.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    metric: z.enum(metrics),
    from: instant.optional().describe('ISO time; default an hour before to'),
    to: instant.optional().describe('Default now'),
    step: z.number().int().min(1).max(604_800).optional().describe('Seconds'),
  }),
  output: z.object({
    appEnvId: z.string(),
    metric: z.enum(metrics),
    unit: z.string(),
    points: z.array(
      z.object({ t: isoTime, value: z.number(), min: z.number(), max: z.number(), last: z.number() }),
    ),
  }),
})

export const getAppEnvContainerSeries = operation({
  id: 'get-app-env-container-series',
  method: 'GET',
  path: '/app-env/container-series',
  summary:
    'Reads how many containers should run, ran and were ready over time, up to 35 days back, and how many started.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    from: instant.optional().describe('ISO time; default an hour before to'),
    to: instant.optional().describe('Default now'),
    step: z.number().int().min(1).max(604_800).default(60).describe('Seconds'),
  }),
  output: z.object({
    appEnvId: z.string(),
    points: z.array(
      z.object({
        /** End of the step. */
        t: isoTime,
        /** Containers that ran at the same time in the step, by their start and end times. */
        least: z.number(),
        most: z.number(),
        /** Containers that started in the step. */
        started: z.number(),
        /** The starts among them while no container ran: for functions, starts that a request waited for (F2). */
        startedFromZero: z.number(),
        /** The most that should run at a time in the step; null before that was first recorded. */
        desired: z.number().nullable(),
        /** The fewest of them that were ready. */
        ready: z.number().nullable(),
      }),
    ),
  }),
  peopleOnly: true,
})

const usageHour = z.object({
  hour: isoTime,
  containerSeconds: z.number(),
  zCloudSeconds: z.number(),
  billedZCloudSeconds: z.number(),
})
export type UsageHour = z.output<typeof usageHour>

export const getAccountUsage = operation({
  id: 'get-account-usage',
  method: 'GET',
  path: '/account/usage',
  summary: 'Reads billed usage of the environments of an account that the caller can access, in all.',
  policy: { on: 'whole-account' },
  input: z.strictObject({
    accountId,
    from: instant.optional().describe('At most 31 days ago; default the start of the day, UTC'),
    to: instant.optional().describe('Default now'),
  }),
  output: z.object({
    accountId: z.string(),
    containerSeconds: z.number(),
    zCloudSeconds: z.number(),
    billedZCloudSeconds: z.number(),
  }),
  peopleOnly: true,
})

export const getAppEnvUsage = operation({
  id: 'get-app-env-usage',
  method: 'GET',
  path: '/app-env/usage',
  summary: 'Reads billed usage: container time and zCloud time by hour, and disk above the included amount.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    from: instant.optional().describe('ISO time; default the start of the month'),
    to: instant.optional().describe('Default now'),
  }),
  output: z.object({
    appEnvId: z.string(),
    rateMultiplier: z.number(),
    containerSeconds: z.number(),
    zCloudSeconds: z.number(),
    billedZCloudSeconds: z.number(),
    diskMb: z.number(),
    includedDiskMb: z.number(),
    overageDiskMb: z.number(),
    hours: z.array(usageHour),
  }),
})
