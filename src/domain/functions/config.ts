import type { AccountSettings } from '../../contract/accounts.ts'
import type { FunctionConfig, FunctionConfigInput } from '../../contract/function-config.ts'
import { functionLimitsViolation } from '../../contract/rules.ts'
import { AppError, rejectViolation } from '../../errors.ts'

const platformDefaults = {
  containerConcurrency: 20,
  timeoutSeconds: 60,
  responseStartTimeoutSeconds: 60,
} as const

/** Effective settings: given values override the defaults of account and platform (2.4). */
export function effectiveFunctionConfig(
  config: FunctionConfigInput,
  account: AccountSettings,
): FunctionConfig {
  const maxScale = config.maxScale ?? Math.min(account.functionDefaultMaxScale, account.functionMaxScale)
  const timeoutSeconds = config.timeoutSeconds ?? platformDefaults.timeoutSeconds
  return {
    containerConcurrency: config.containerConcurrency ?? platformDefaults.containerConcurrency,
    timeoutSeconds,
    idleTimeoutSeconds:
      config.idleTimeoutSeconds ??
      Math.max(account.functionDefaultIdleTimeoutSeconds, account.functionMinIdleTimeoutSeconds),
    responseStartTimeoutSeconds:
      config.responseStartTimeoutSeconds ??
      Math.min(platformDefaults.responseStartTimeoutSeconds, timeoutSeconds),
    minScale: config.minScale ?? 0,
    maxScale: Math.max(maxScale, config.minScale ?? 0, 1),
  }
}

/** How many containers stay warm (F11): a `minScale` of 0 counts as 1 if scale to zero is off (8.scale-to-zero). */
export function warmContainers(config: FunctionConfig, account: AccountSettings): number {
  return account.functionScaleToZero ? config.minScale : Math.max(1, config.minScale)
}

/** Checks given values, not defaults, against account limits and each other (E3, 8.scale-limits). */
export function checkFunctionConfig(config: FunctionConfigInput, account: AccountSettings): void {
  const maxScale = config.maxScale ?? Math.min(account.functionDefaultMaxScale, account.functionMaxScale)
  rejectViolation(functionLimitsViolation({ ...config, maxScale }, account))
  const effective = effectiveFunctionConfig(config, account)
  if (effective.responseStartTimeoutSeconds > effective.timeoutSeconds) {
    throw new AppError(
      'invalid',
      `responseStartTimeoutSeconds ${effective.responseStartTimeoutSeconds} is above timeoutSeconds ${effective.timeoutSeconds}`,
      { details: 'Lower responseStartTimeoutSeconds or raise timeoutSeconds.', rule: 'E3' },
    )
  }
}
