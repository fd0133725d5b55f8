import { z } from 'zod'
import { processText } from './fields.ts'

/** Job settings (interface.md 2.5). An empty command, args or workingDir clears the override. */
export const jobConfigFields = {
  command: processText(8192).optional(),
  args: z.array(processText(8192)).max(256).optional(),
  shell: z.boolean().optional(),
  workingDir: processText(1024).optional(),
  timeoutSeconds: z.number().int().min(1).max(604_800).optional(),
  ttlSecondsAfterFinished: z
    .number()
    .int()
    .min(300, 'must be at least 300 seconds (section 8)')
    .max(31_536_000)
    .optional(),
  backoffLimit: z.number().int().min(0).max(100).optional(),
  maxConcurrency: z.number().int().min(1).max(1000).optional(),
  allowConcurrentRuns: z.boolean().optional(),
}

export const jobConfig = z.strictObject(jobConfigFields)
export type JobConfig = z.output<typeof jobConfig>

export const jobConfigRead = z.object({
  command: z.string().optional(),
  args: z.array(z.string()).optional(),
  shell: z.boolean().optional(),
  workingDir: z.string().optional(),
  timeoutSeconds: z.number().optional(),
  ttlSecondsAfterFinished: z.number().optional(),
  backoffLimit: z.number().optional(),
  maxConcurrency: z.number().optional(),
  allowConcurrentRuns: z.boolean().optional(),
})
