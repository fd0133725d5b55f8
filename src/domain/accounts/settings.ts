import type { AccountSettings } from '../../contract/accounts.ts'
import { AppError } from '../../errors.ts'

/** With the given settings changed. Those that depend on a limit and are not given follow it. */
export function changedSettings(
  before: AccountSettings,
  wanted: Partial<AccountSettings>,
): { settings: AccountSettings; followed: (keyof AccountSettings)[] } {
  const limited = { ...before, ...wanted }
  const { functionMinIdleTimeoutSeconds, functionMaxScale } = limited
  const settings: AccountSettings = {
    ...limited,
    functionDefaultIdleTimeoutSeconds: Math.max(
      limited.functionDefaultIdleTimeoutSeconds,
      functionMinIdleTimeoutSeconds,
    ),
    functionDefaultMaxScale: Math.min(limited.functionDefaultMaxScale, functionMaxScale),
    functionMaxMinScale: Math.min(limited.functionMaxMinScale, functionMaxScale),
    ...wanted,
  }
  checkAccountSettings(settings)
  const names = Object.keys(settings) as (keyof AccountSettings)[]
  return { settings, followed: names.filter((name) => settings[name] !== limited[name]) }
}

/**
 * Settings must not contradict each other; the contract defines their bounds (docs/interface.md#account-settings).
 */
export function checkAccountSettings(settings: AccountSettings): void {
  atMost(settings, 'functionMinIdleTimeoutSeconds', 'functionDefaultIdleTimeoutSeconds')
  atMost(settings, 'functionDefaultMaxScale', 'functionMaxScale')
  atMost(settings, 'functionMaxMinScale', 'functionMaxScale')
}

function atMost(
  settings: AccountSettings,
  smaller: keyof AccountSettings,
  larger: keyof AccountSettings,
): void {
  if (settings[smaller] <= settings[larger]) return
  throw new AppError('invalid', `${smaller} must be at most ${larger}`, {
    details: `They would be ${settings[smaller]} and ${settings[larger]}. Change both in one request, or only the limit: what depends on it follows.`,
  })
}
