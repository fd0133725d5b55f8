import { z } from 'zod'
import { isoTime } from './fields.ts'

const seconds = (min: number, max: number) => z.number().int().min(min).max(max)

/** How containers prove that they are healthy. What is left out is inherited: environment, app, platform. */
export const healthCheck = z.strictObject({
  path: z
    .string()
    .max(512)
    .regex(/^\/[\x21-\x7e]*$/, 'must be a path such as /healthz')
    .nullable()
    .optional()
    .describe('GET path; null: only the port'),
  expectedStatus: seconds(200, 599).nullable().optional().describe('Default: 200 to 399'),
  intervalSeconds: seconds(1, 300).optional(),
  timeoutSeconds: seconds(1, 60).optional(),
  stabilitySeconds: seconds(0, 600)
    .optional()
    .describe('A version counts as deployed after it was healthy this long'),
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
  /** Of what is not well: the end of its log. */
  logTail: z.array(z.string()),
})
export type Health = z.output<typeof health>

/** The same sentence on every surface. */
export function healthSentence({ verdict, restarts, lastExit }: Omit<Health, 'logTail'>): string {
  switch (verdict) {
    case 'HEALTHY':
      return 'Its containers are healthy.'
    case 'STARTING':
      return 'Its containers are starting, or in their stability window.'
    case 'CRASH_LOOP':
      return `Its containers keep exiting: ${restarts} exits, the last with code ${lastExit?.code ?? 'unknown'}.`
    case 'OOM_LOOP':
      return `Its containers keep running out of memory: ${restarts} exits. Raise zClouds or use less memory.`
    case 'FAILING_CHECKS':
      return 'Its health checks fail, so containers take no requests.'
    case 'UNREACHABLE':
      return 'Its containers run, but accept no connections on the port of the app.'
    case 'IDLE':
      return 'It is at zero containers; the next request starts one.'
  }
}
