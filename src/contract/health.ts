import { z } from 'zod'
import { isoTime } from './fields.ts'

const seconds = (min: number, max: number) => z.number().int().min(min).max(max)

/** How containers prove that they are healthy. Omitted settings are inherited: environment, app, platform. */
export const healthCheck = z.strictObject({
  path: z
    .string()
    .max(512)
    .regex(/^\/[\x21-\x7e]*$/, 'must be a path such as /healthz')
    .nullable()
    .optional()
    .describe('GET path; null: only the port'),
  expectedStatus: seconds(200, 599).nullable().optional(),
  intervalSeconds: seconds(1, 300).optional(),
  timeoutSeconds: seconds(1, 60).optional(),
  stabilitySeconds: seconds(0, 600).optional().describe('Healthy for so long, a version counts as deployed'),
})
export type HealthCheckInput = z.output<typeof healthCheck>

/** A health check with every default filled in. */
export const effectiveHealthCheck = z.object({
  path: z.string().nullable(),
  expectedStatus: z.number().nullable(),
  intervalSeconds: z.number(),
  timeoutSeconds: z.number(),
  stabilitySeconds: z.number(),
})
export type HealthCheck = z.output<typeof effectiveHealthCheck>

const healthVerdicts = [
  'HEALTHY',
  'STARTING',
  'CRASH_LOOP',
  'OOM_LOOP',
  'FAILING_CHECKS',
  'UNREACHABLE',
  'IDLE',
] as const

export const health = z.object({
  verdict: z.enum(healthVerdicts),
  since: isoTime,
  restarts: z.number(),
  lastExit: z.object({ code: z.number(), reason: z.string(), at: isoTime }).nullable(),
  /** Path that is checked; null: only the port. */
  path: z.string().nullable(),
  /** Share of the requests of the last minute that failed with 5xx or got no answer; null without requests. */
  failedPercent: z.number().nullable(),
  /** The end of the log, for an environment that is not healthy. */
  logTail: z.array(z.string()),
})
export type Health = z.output<typeof health>
