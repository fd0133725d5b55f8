import type { AccountSettings } from '../../contract/accounts.ts'
import type { FunctionConfig, FunctionConfigInput } from '../../contract/function-config.ts'
import { AppError } from '../../errors.ts'

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
  const idle = config.idleTimeoutSeconds
  if (idle !== undefined && idle < account.functionMinIdleTimeoutSeconds) {
    throw refused(
      `idleTimeoutSeconds must be at least ${account.functionMinIdleTimeoutSeconds}`,
      `The account's functionMinIdleTimeoutSeconds is ${account.functionMinIdleTimeoutSeconds} (the platform's least is 300); ${idle} is below it.`,
    )
  }
  aboveLimit('maxScale', config.maxScale, 'functionMaxScale', account.functionMaxScale)
  aboveLimit('minScale', config.minScale, 'functionMaxMinScale', account.functionMaxMinScale)
  const effective = effectiveFunctionConfig(config, account)
  const maxScale = config.maxScale ?? Math.min(account.functionDefaultMaxScale, account.functionMaxScale)
  if (effective.minScale > maxScale) {
    throw refused(
      `minScale ${effective.minScale} is above maxScale ${maxScale}`,
      'Raise maxScale or lower minScale: minScale may be at most maxScale.',
    )
  }
  if (effective.responseStartTimeoutSeconds > effective.timeoutSeconds) {
    throw refused(
      `responseStartTimeoutSeconds ${effective.responseStartTimeoutSeconds} is above timeoutSeconds ${effective.timeoutSeconds}`,
      'Lower responseStartTimeoutSeconds or raise timeoutSeconds.',
    )
  }
}

function aboveLimit(field: string, value: number | undefined, limit: string, most: number): void {
  if (value === undefined || value <= most) return
  throw refused(
    `${field} must be at most ${most}`,
    `The account's ${limit} is ${most}; ${value} is above it.`,
  )
}

function refused(message: string, details: string): AppError {
  return new AppError('invalid', message, { details, rule: 'E3' })
}
