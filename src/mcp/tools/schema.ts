import { z } from 'zod'
import { environmentStatuses } from '../../contract/fields.ts'
import { AppError } from '../../errors.ts'
import type { Tool, ToolInput } from './define-tool.ts'
import { pageFields } from './result-size.ts'
import { budgetFields, operationCursor } from './token-budget.ts'

/** Inputs that only tools have; they are never sent to the platform. The default of `waitSeconds` is in waitSecondsOf. */
const waitFields = {
  /** Default true. */
  wait: z.boolean().optional(),
  waitSeconds: z.number().int().min(1).max(1800).optional(),
}
const confirmField = {
  confirm: z.string().max(200).optional(),
}

const dryRunField = { dryRun: z.boolean().optional() }
const idempotencyField = { idempotencyKey: z.string().min(1).max(200).optional() }

/** Fields that a waiting tool adds to the output of its row. */
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
      failure: z
        .object({
          reason: z.string(),
          message: z.string(),
          cause: z.string().optional(),
          explanation: z.string().optional(),
        })
        .nullable(),
      hosts: z.array(z.string()),
    })
    .optional(),
}

function ownShape(tool: Tool): z.ZodRawShape {
  return {
    ...(tool.waits ? waitFields : {}),
    ...(tool.destroys === undefined || tool.confirmedWith ? {} : confirmField),
    ...(tool.hints.readOnly ? {} : dryRunField),
    // Idempotent calls need no key.
    ...(tool.hints.idempotent ? {} : idempotencyField),
    ...(tool.pages === undefined ? {} : pageFields),
    ...(tool.hints.readOnly ? budgetFields : {}),
    ...tool.ownInputs,
  }
}

/** The row's input and the tool's own inputs, strict. */
export function inputSchemaOf(tool: Tool): z.ZodObject {
  const rows = Object.entries(tool.operation.input.shape).filter(
    ([name]) => !tool.peopleInputs.includes(name),
  )
  return z.strictObject({ ...Object.fromEntries(rows), ...ownShape(tool) })
}

/** The row's output and the fields that the tool adds. Every output is an object. */
export function outputSchemaOf(tool: Tool): z.ZodObject {
  const { output } = tool.operation
  if (!(output instanceof z.ZodObject)) throw new Error(`${tool.name}: its output is not an object`)
  return output.extend({
    ...(tool.waits === true ? waitOutput : {}),
    ...(tool.checks.length === 0 ? {} : { notes: z.array(z.string()).optional() }),
    ...tool.noteFields,
    nextActions: z
      .array(z.object({ tool: z.string(), input: z.record(z.string(), z.unknown()), why: z.string() }))
      .optional(),
    ...(tool.body === undefined
      ? {}
      : { untrusted: z.object({ mark: z.string(), notice: z.string() }).optional() }),
  })
}

/** Arguments, split by receiver. */
export interface CheckedArguments {
  /** Input for the platform: with the tool's defaults, without keys that reads add (docs/interface.md#round-trips). */
  sent: ToolInput
  /** Inputs of the tool itself, with defaults. */
  own: ToolInput
  /** Whether `sent` matches the row. If not, the platform's own error explains it. */
  fits: boolean
}

/** Far more than any tool takes. */
const mostArguments = 100

/** Rejects thousands of arguments before they are sent and named in errors one by one. */
export function refuseTooMany(args: ToolInput): void {
  if (Object.keys(args).length <= mostArguments) return
  throw new AppError('invalid', 'Invalid request', { details: `A call has at most ${mostArguments} inputs.` })
}

/**
 * Rejects lists and objects in inputs that go into a query string: `["env_b"]` would become `env_b` there, and so mean
 * something else to the platform than to the earlier checks (scope, confirmation).
 */
export function refuseNested({ operation }: Tool, args: ToolInput): void {
  if (operation.method !== 'GET' && operation.method !== 'DELETE') return
  const { shape } = operation.input
  for (const [key, value] of Object.entries(args)) {
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(shape, key) && shape[key]!.safeParse(value).success) continue
    throw new AppError('invalid', 'Invalid request', { details: `${key.slice(0, 64)}: must be text` })
  }
}

/** Splits arguments. Throws for errors that only the tool can detect: in its own inputs, or secrets not allowed. */
export function checkArguments(tool: Tool, args: ToolInput, allowSecrets: boolean): CheckedArguments {
  refuseSecretInputs(tool, args, allowSecrets)
  refusePeopleInputs(tool, args)
  const shape = ownShape(tool)
  const ignored = new Set(tool.operation.ignored ?? [])
  const given = Object.entries(args).filter(([key]) => !ignored.has(key))
  const own = z
    .object(shape)
    .safeParse(Object.fromEntries(given.filter(([key]) => Object.hasOwn(shape, key))), { error: wording })
  if (!own.success) throw inputError(own.error)
  const sent = platformInput(tool, args)
  return { sent, own: own.data, fits: tool.operation.input.safeParse(sent).success }
}

/** The part of the arguments that goes to the platform, with the tool's defaults. */
export function platformInput(tool: Tool, args: ToolInput): ToolInput {
  const shape = ownShape(tool)
  const ignored = tool.operation.ignored ?? []
  const theirs = Object.entries(args).filter(
    ([key, value]) => !ignored.includes(key) && !Object.hasOwn(shape, key) && value !== undefined,
  )
  const cursor = 'cursor' in tool.operation.input.shape ? operationCursor(args.cursor) : undefined
  return { ...tool.defaults, ...Object.fromEntries(theirs), ...(cursor !== undefined && { cursor }) }
}

function refuseSecretInputs(tool: Tool, args: ToolInput, allowSecrets: boolean): void {
  if (allowSecrets) return
  for (const name of tool.secretInputs) {
    if (args[name] === undefined || args[name] === false) continue
    throw new AppError('forbidden', `${name} is switched off on agent tools`, {
      details: `This server does not show secrets. Omit ${name}. A person can start "longshore mcp" with --allow-secrets, or "longshore serve" with --mcp-allow-secrets, or read the value through the REST API.`,
    })
  }
}

function refusePeopleInputs(tool: Tool, args: ToolInput): void {
  const name = tool.peopleInputs.find((one) => args[one] !== undefined)
  if (name === undefined) return
  throw new AppError('forbidden', `${name} is not for agents`, {
    details: `Omit ${name}. A person can change it in the console, on the command line or through the REST API.`,
  })
}

const typeWords: Readonly<Record<string, string>> = {
  string: 'must be text',
  number: 'must be a number',
  int: 'must be a whole number',
  boolean: 'must be true or false',
}

/** The same wording as the platform's for the same mistake. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  return issue.code === 'invalid_type' ? typeWords[String(issue.expected)] : undefined
}

function inputError(error: z.ZodError): AppError {
  const problems = error.issues.map((issue) => `${issue.path.map(String).join('.')}: ${issue.message}`)
  return new AppError('invalid', 'Invalid request', { details: problems.join('; ') })
}
