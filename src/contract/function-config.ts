import { z } from 'zod'

const seconds = (min: number, max: number, what: string) => z.number().int().min(min).max(max).describe(what)

/** Function settings (2.4). */
export const functionConfigFields = {
  containerConcurrency: z
    .number()
    .int()
    .min(0)
    .max(1000)
    .optional()
    .describe('Max concurrent requests per container; 0 = no limit'),
  timeoutSeconds: seconds(1, 3600, 'Max seconds a request may take').optional(),
  idleTimeoutSeconds: z
    .number()
    .int()
    .min(300, 'must be at least 300 seconds')
    .max(86_400)
    .optional()
    .describe('Idle seconds before scale to zero'),
  responseStartTimeoutSeconds: seconds(1, 3600, 'Max seconds to the first response byte').optional(),
  minScale: z.number().int().min(0).max(1000).optional().describe('Min containers; 0 allows scale to zero'),
  maxScale: z.number().int().min(1).max(1000).optional().describe('Most containers'),
}

export const functionConfig = z.strictObject(functionConfigFields)
export type FunctionConfigInput = z.output<typeof functionConfig>

export const functionConfigRead = z.object({
  containerConcurrency: z.number(),
  timeoutSeconds: z.number(),
  idleTimeoutSeconds: z.number(),
  responseStartTimeoutSeconds: z.number(),
  minScale: z.number(),
  maxScale: z.number(),
})
/** Function settings with every default filled in. */
export type FunctionConfig = z.output<typeof functionConfigRead>
