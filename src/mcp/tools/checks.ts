import { AppError } from '../../errors.ts'
import type { Check, ToolContext, ToolInput } from './define-tool.ts'
import { environmentRefOf } from './read-cache.ts'

/** M2: the environment exists and the caller has access; passes on the platform's 403 or 404. */
export const environmentAccessible: Check = async (ctx, input) => {
  await ctx.reads.environment(input, ctx.signal)
  return undefined
}

/** Requires `appEnvId` or `envName`, which the portable schema subset cannot express. */
export const environmentNamed: Check = (_ctx, input) => {
  environmentRefOf(input)
  return undefined
}

/** Requires `accountId` or `appId`. */
export const accountOrAppNamed: Check = (_ctx, input) => {
  if (input.accountId === undefined && input.appId === undefined) {
    throw new AppError('invalid', 'accountId or appId is required', {
      details: 'list-accounts shows account ids, list-apps app ids.',
    })
  }
  return undefined
}

/** F8: autoscaling and container counts of regular apps do not apply to functions. */
export const notAFunction: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  if (!env.isFunction) return undefined
  throw new AppError('invalid', `Functions do not use ${scalingOf(ctx)}`, {
    details:
      'A function scales automatically between minScale and maxScale, by containerConcurrency. Set these with update-function-config.',
    rule: 'F8',
  })
}

/** Jobs have no long-running containers. */
export const notAJob: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  if (!env.isJob) return undefined
  throw new AppError('invalid', `Jobs do not use ${scalingOf(ctx)}`, {
    details:
      'Each run uses one container. To limit parallel runs, set maxConcurrency with update-job-config.',
  })
}

export const notADatabase: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  if (!env.isDatabase) return undefined
  throw new AppError('invalid', `Managed databases do not use ${scalingOf(ctx)}`, {
    details: 'Set zClouds with update-app-env, or containers with scale-app-env-containers.',
  })
}

function scalingOf(ctx: ToolContext): string {
  return ctx.operation.id === 'update-app-env-autoscaling' ? 'autoscaling' : 'manual container scaling'
}

/** E3: only apps with the FUNCTION preset have function settings. */
export const isAFunction: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  if (env.isFunction) return undefined
  throw new AppError('invalid', 'Only FUNCTION apps have function settings', {
    details: `This app uses the ${env.dockerPreset} preset. Use update-app-env, scale-app-env-containers or update-app-env-autoscaling.`,
    rule: 'E3',
  })
}

/** The requested scale is within the limits of the account, and minScale at most maxScale (E3, 8.scale-limits). */
export const functionLimits: Check = async (ctx, given) => {
  const input = { ...given, ...(given.functionConfig as ToolInput | undefined) }
  const limited = ['idleTimeoutSeconds', 'maxScale', 'minScale'].some((field) => input[field] !== undefined)
  if (!limited) return undefined
  const env = await ctx.reads.environment(input, ctx.signal)
  const account = await ctx.reads.account(env.accountId, ctx.signal)
  if (account === null) return undefined
  const { functionMinIdleTimeoutSeconds: leastIdle, functionMaxScale, functionMaxMinScale } = account.settings
  const idle = numberOf(input, 'idleTimeoutSeconds')
  if (idle < leastIdle) {
    throw limitError(
      `idleTimeoutSeconds must be at least ${leastIdle}`,
      `The account's functionMinIdleTimeoutSeconds is ${leastIdle} (the platform's least is 300); ${idle} is below it.`,
    )
  }
  withinLimit(input, 'maxScale', 'functionMaxScale', functionMaxScale)
  withinLimit(input, 'minScale', 'functionMaxMinScale', functionMaxMinScale)
  if (numberOf(input, 'minScale') > numberOf(input, 'maxScale')) {
    throw limitError(
      `minScale ${input.minScale} is above maxScale ${input.maxScale}`,
      'Raise maxScale or lower minScale: minScale may be at most maxScale.',
    )
  }
  return undefined
}

function withinLimit(input: ToolInput, field: string, limit: string, most: number): void {
  const value = numberOf(input, field)
  if (!(value > most)) return
  throw limitError(
    `${field} must be at most ${most}`,
    `The account's ${limit} is ${most}; ${value} is above it.`,
  )
}

/** NaN when absent, so that every comparison is false. */
function numberOf(input: ToolInput, field: string): number {
  const value = input[field]
  return typeof value === 'number' ? value : Number.NaN
}

function limitError(message: string, details: string): AppError {
  return new AppError('invalid', message, { details, rule: 'E3' })
}
