import type { AccountSettings } from '../../contract/accounts.ts'
import { AppError } from '../../errors.ts'

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
    details: `They would be ${settings[smaller]} and ${settings[larger]}. Change both in one request.`,
  })
}
