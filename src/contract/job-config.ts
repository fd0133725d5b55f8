import { z } from 'zod'
import { processText } from './fields.ts'

/** Each run keeps a copy of its arguments, and a page lists 200 runs. */
function isSmall(args: readonly string[]): boolean {
  return args.reduce((sum, one) => sum + one.length, 0) <= 65_536
}

/** Job settings (2.5). An empty command, args or workingDir clears the override. */
export const jobConfigFields = {
  command: processText(8192).optional(),
  args: z
    .array(processText(8192))
    .max(256)
    .refine(isSmall, 'must be at most 65,536 characters in all')
    .optional(),
  shell: z.boolean().optional(),
  workingDir: processText(1024).optional(),
  timeoutSeconds: z.number().int().min(1).max(604_800).optional(),
  ttlSecondsAfterFinished: z
    .number()
    .int()
    .min(300, 'must be at least 300 seconds')
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

export const jobConfigNames = [
  'command',
  'args',
  'shell',
  'workingDir',
  'timeoutSeconds',
  'ttlSecondsAfterFinished',
  'backoffLimit',
  'maxConcurrency',
  'allowConcurrentRuns',
] as const
export type JobConfigName = (typeof jobConfigNames)[number]

/** Sources of an effective value; later layers win. */
export const jobConfigLayers = ['platform', 'app', 'environment'] as const

function layered<T extends z.ZodType>(value: T) {
  const known = { value: value.nullable(), from: z.enum(jobConfigLayers) }
  return z.object({ ...known, pending: z.object(known).optional() })
}

/**
 * For each field the value that the next run uses, and its layer. `pending` is set if an apply would change either.
 */
export const effectiveJobConfig = z.object({
  command: layered(z.string()),
  args: layered(z.array(z.string())),
  shell: layered(z.boolean()),
  workingDir: layered(z.string()),
  timeoutSeconds: layered(z.number()),
  ttlSecondsAfterFinished: layered(z.number()),
  backoffLimit: layered(z.number()),
  maxConcurrency: layered(z.number()),
  allowConcurrentRuns: layered(z.boolean()),
})
export type EffectiveJobConfig = z.output<typeof effectiveJobConfig>

/** Positional parameters, and forms that pass them on without naming them. */
const usesParameters =
  /\$(?:[\d@*#]|\{[\d@*#])|(?:^|[\s;&|(])(?:\.|source|eval|getopts)\s|\bfor\s+\w+\s*(?:;|\n|do\b)/

/** With `shell`, arguments are $1, $2, … of the command: one that uses none of these ignores them. */
export function ignoresArguments({
  command,
  args,
  shell,
}: {
  command: string
  args: unknown
  shell: unknown
}): boolean {
  return (
    Array.isArray(args) &&
    args.length > 0 &&
    shell === true &&
    command !== '' &&
    !usesParameters.test(command)
  )
}
