import { z } from 'zod'

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
