import type { FunctionConfigInput } from '../../contract/function-config.ts'
import { functionLimitsViolation, functionOnlyViolation, scalingViolation } from '../../contract/rules.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import type { Check } from './define-tool.ts'
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
      details: 'list-accounts shows account ids, list-app-envs app ids.',
    })
  }
  return undefined
}

/** Functions (F8) and jobs are not scaled by CPU, memory or hand; databases are scaled by hand only. */
export const isScalable: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  const isAutoscaling = ctx.operation.id === 'update-app-env-autoscaling'
  rejectViolation(scalingViolation(env, isAutoscaling ? 'autoscaling' : 'manual container scaling'))
  return undefined
}

/** E3: only apps with the FUNCTION preset have function settings. */
export const isAFunction: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  const isProbe = ctx.operation.id === 'probe-function'
  rejectViolation(functionOnlyViolation(env, isProbe ? 'probe-function' : 'update-function-config'))
  return undefined
}

/** The requested scale is within the limits of the account, and minScale at most maxScale (E3, 8.scale-limits). */
export const functionLimits: Check = async (ctx, given) => {
  const input: FunctionConfigInput = {
    ...given,
    ...(given.functionConfig as FunctionConfigInput | undefined),
  }
  const isLimited = [input.idleTimeoutSeconds, input.maxScale, input.minScale].some(
    (value) => value !== undefined,
  )
  if (!isLimited) return undefined
  const env = await ctx.reads.environment(given, ctx.signal)
  const account = await ctx.reads.account(env.accountId, ctx.signal)
  if (account) rejectViolation(functionLimitsViolation(input, account.settings))
  return undefined
}
