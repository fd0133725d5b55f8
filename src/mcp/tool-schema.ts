import { z } from 'zod'
import { environmentStatuses } from '../contract/fields.ts'
import { AppError } from '../errors.ts'
import { pageFields } from './answer-size.ts'
import type { Tool, ToolInput } from './define-tool.ts'

/** Inputs that only tools have; they are never sent to the platform. `waitSeconds` left out: see waitSecondsOf. */
const waitFields = {
  wait: z.boolean().default(true),
  waitSeconds: z.number().int().min(1).max(1800).optional(),
}
const confirmField = {
  confirm: z.string().max(200).optional().describe('Exact name'),
}

const dryRunField = { dryRun: z.boolean().optional() }
const idempotencyField = { idempotencyKey: z.string().min(1).max(200).optional() }

/** What a waiting tool adds to the answer of its row. */
const waitOutput = {
  deployment: z
    .object({
      finished: z.boolean(),
      outcome: z.string(),
      environmentStatus: z.enum(environmentStatuses),
      servingVersion: z.number().nullable(),
      contentId: z.string().nullable(),
      version: z.number().nullable(),
      status: z.string().nullable(),
      failure: z.object({ reason: z.string(), message: z.string() }).nullable(),
      hosts: z.array(z.string()),
    })
    .optional(),
}

function ownShape(tool: Tool): z.ZodRawShape {
  return {
    ...(tool.waits ? waitFields : {}),
    ...(tool.destroys === undefined || tool.asksOnly ? {} : confirmField),
    ...(tool.hints.readOnly ? {} : dryRunField),
    // A repeat of the others does nothing twice by itself.
    ...(tool.hints.idempotent ? {} : idempotencyField),
    ...(tool.pages === undefined ? {} : pageFields),
    ...tool.ownInputs,
  }
}

/** The row's input and what the tool adds, strict. */
export function inputSchemaOf(tool: Tool): z.ZodObject {
  return z.strictObject({ ...tool.operation.input.shape, ...ownShape(tool) })
}

/** The row's output and what the tool adds. Every row answers an object. */
export function outputSchemaOf(tool: Tool): z.ZodObject {
  const { output } = tool.operation
  if (!(output instanceof z.ZodObject)) throw new Error(`${tool.name}: its output is not an object`)
  return output.extend({
    ...(tool.waits === true ? waitOutput : {}),
    ...(tool.checks.length === 0 ? {} : { notes: z.array(z.string()).optional() }),
    ...(tool.body === undefined ? {} : { untrusted: z.object({ mark: z.string(), notice: z.string() }) }),
  })
}

/** Arguments, told apart. */
export interface CheckedArguments {
  /** For the platform, as given, with the tool's own defaults. Keys that only a read adds are dropped (contract.md 11). */
  sent: ToolInput
  /** For the tool itself, defaults filled in. */
  own: ToolInput
  /** Whether the row takes what is sent. If not, the platform is left to say why, in its own words. */
  fits: boolean
}

/**
 * Refuses lists and objects where the input goes into a query string: `["env_b"]` would be written there as
 * `env_b`, and so mean something else to the platform than to what looked at the arguments before (a pin, the
 * question to a person).
 */
export function refuseNested({ operation }: Tool, args: ToolInput): void {
  if (operation.method !== 'GET' && operation.method !== 'DELETE') return
  const { shape } = operation.input
  for (const [key, value] of Object.entries(args)) {
    if (typeof value !== 'object' || value === null || shape[key]?.safeParse(value).success) continue
    throw new AppError('invalid', 'Invalid request', { details: `${key.slice(0, 64)}: must be text` })
  }
}

/** Takes arguments apart. Throws for what only the tool can refuse: its own inputs, and secrets not allowed. */
export function checkArguments(tool: Tool, args: ToolInput, allowSecrets: boolean): CheckedArguments {
  refuseSecretInputs(tool, args, allowSecrets)
  const shape = ownShape(tool)
  const ignored = new Set(tool.operation.ignored ?? [])
  const given = Object.entries(args).filter(([key]) => !ignored.has(key))
  const own = z
    .object(shape)
    .safeParse(Object.fromEntries(given.filter(([key]) => Object.hasOwn(shape, key))), { error: wording })
  if (!own.success) throw inputError(own.error)
  const theirs = given.filter(([key, value]) => !Object.hasOwn(shape, key) && value !== undefined)
  const sent = { ...tool.defaults, ...Object.fromEntries(theirs) }
  return { sent, own: own.data, fits: tool.operation.input.safeParse(sent).success }
}

function refuseSecretInputs(tool: Tool, args: ToolInput, allowSecrets: boolean): void {
  if (allowSecrets) return
  for (const name of tool.secretInputs) {
    if (args[name] === undefined || args[name] === false) continue
    throw new AppError('forbidden', `${name} is switched off on agent tools`, {
      details: `This server shows no secrets. Leave ${name} out; a person can start "longshore mcp" with --allow-secrets, or read the value through the REST API.`,
    })
  }
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'must be text',
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
}

/** The words the platform has for the same mistake. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'invalid_type' ? typeWords[String(issue.expected)] : undefined
}

function inputError(error: z.ZodError): AppError {
  const problems = error.issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`)
  return new AppError('invalid', 'Invalid request', { details: problems.join('; ') })
}
