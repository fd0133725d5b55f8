import { z } from 'zod'

/** Replaces secret values in reads; in writes it means "keep the value" (2.2). */
export const secretMask = '***SECRET***'

// Control, direction and zero-width characters and fillers. An emoji's own selector (U+FE0F) may stay.
const unseen = String.raw`\u0000-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb`
const printable = new RegExp(`^[^${unseen}]*$`)
const printableLines = new RegExp(`^(?:[^${unseen}]|[\\n\\r\\t])*$`)

/** Tag characters and variation selectors can encode invisible text. */
const hasNoTags = (text: string) => !/[\u{e0000}-\u{e0fff}]/u.test(text)

/** One line of printable text: no control, direction, zero-width or tag characters. */
export function line(maxLength: number) {
  const message = 'must be one line of printable characters'
  return z.string().trim().min(1).max(maxLength).regex(printable, message).refine(hasNoTags, message)
}

/** Printable text of any number of lines; may be empty. */
export function lines(maxLength: number) {
  const message = 'must be printable text'
  return z.string().max(maxLength).regex(printableLines, message).refine(hasNoTags, message)
}

const unseenAnywhere = new RegExp(`[${unseen}\\u{e0000}-\\u{e0fff}]`, 'gu')

/** Removes invisible characters from another person's text that was stored before they were rejected. */
export function plainLine(text: string): string {
  return text.replace(unseenAnywhere, ' ').slice(0, 254)
}

export const id = z.string().min(1).max(64)
export const accountId = id.describe('Account id')
export const appId = id.describe('App id')

/** Every operation on one environment takes one of these; `appEnvId` wins (docs/interface.md#naming-an-environment). */
export const environmentRef = {
  appEnvId: id.optional().describe('Environment id'),
  envName: z.string().min(1).max(140).optional().describe('Or its cliEnvName'),
}

export const expectedRevision = z
  .number()
  .int()
  .min(0)
  .max(2_147_483_647)
  .optional()
  .describe('Reject if the revision differs')

/** Agents put only their own pending changes in force, unless they name those of others (docs/interface.md#pending-changes). */
export const includeChangesOf = z
  .union([z.literal('all'), z.array(id).max(50)])
  .optional()
  .describe('Users whose pending changes go live too, or all')

export const revision = z.number()
export const isoTime = z.string().describe('ISO 8601 UTC')

export const zClouds = z
  .literal([1, 2, 4, 8], { error: 'zClouds must be 1, 2, 4 or 8' })
  .describe('Size: 1, 2, 4 or 8')

export const branch = z
  .string()
  .min(1, 'branch cannot be empty')
  .max(200)
  .regex(
    /^(?![-/.])(?!.*(?:\.\.|\/\/|@\{))[A-Za-z0-9._/+@#-]+(?<![/.])$/,
    'branch must be a Git branch name: letters, digits and . _ / + @ # - only',
  )

/** A repository on a Git host, or its owner. Becomes part of a URL and an argument of git. */
export function gitName(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .regex(
      /^[A-Za-z0-9_][A-Za-z0-9._-]*$/,
      'must be letters, digits and . _ - only, and begin with a letter, a digit or _',
    )
}

/** An OCI image reference: registry, path, tag, digest. Never begins with `-`, so it cannot become an option. */
export const image = z
  .string()
  .min(1)
  .max(512)
  .regex(
    /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[a-f0-9]{64})?$/,
    'image must be a container image reference such as registry.example.com/team/app:1.2',
  )
  .describe('Container image reference')

/** A path inside the uploaded source: relative, without `..` parts. */
export const sourcePath = z
  .string()
  .min(1)
  .max(512)
  .regex(printable, 'must be one line of printable characters')
  .refine(hasNoTags, 'must be one line of printable characters')
  .refine(
    (value) => !value.startsWith('/') && !value.includes('\\') && !value.split('/').includes('..'),
    'must be a path inside the source, without .. parts',
  )

/** A name that another service gives, such as a channel: any characters that can be seen. */
export function foreignName(maxLength: number) {
  const isSeen = (text: string) => printable.test(text) && hasNoTags(text)
  return z.string().max(maxLength).refine(isSeen, 'must be one line of printable characters')
}

/** Text that reaches a process as one value: anything but NUL. */
export function processText(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .refine((value) => !value.includes('\0'), 'must not contain a NUL character')
}

export const databasePresetNames = [
  'MONGODB',
  'POSTGRESQL',
  'MYSQL',
  'REDIS',
  'COUCHDB',
  'RABBITMQ',
  'CLICKHOUSE',
] as const
export type DatabasePresetName = (typeof databasePresetNames)[number]

const dockerPresets = [
  'CUSTOM',
  'FUNCTION',
  'JOB',
  'NEXT_JS',
  'EXPRESS',
  'NODE_JS',
  'STATIC',
  ...databasePresetNames,
] as const
export type DockerPreset = (typeof dockerPresets)[number]
export const dockerPreset = z.enum(dockerPresets)

export const environmentStatuses = ['STOPPED', 'PENDING', 'UPDATING', 'RUNNING'] as const
export type EnvironmentStatus = (typeof environmentStatuses)[number]

/** Response of operations that act on an environment (docs/interface.md#responses-of-actions). */
export const environmentResponse = {
  success: z.literal(true),
  message: z.string(),
  appEnv: z.object({ appEnvId: z.string(), name: z.string(), status: z.enum(environmentStatuses) }),
}

export const message = { message: z.string() }

/** Position of a page in a list (docs/interface.md#reads). */
export const pagination = z.object({
  limit: z.number(),
  offset: z.number(),
  total: z.number(),
  hasMore: z.boolean(),
})
