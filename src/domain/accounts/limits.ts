import type { AccountSettings } from '../../contract/accounts.ts'
import { AppError } from '../../errors.ts'

/** zCloudLimit: the sum of zClouds x containers, functions by maxScale (docs/interface.md#account-settings). */
export function checkZCloudLimit(options: {
  settings: AccountSettings
  /** zClouds of all other environments of the account. */
  others: number
  wanted: number
  /** False for members who may not see all of the account's environments (M2). */
  showsUsed: boolean
}): void {
  const total = options.others + options.wanted
  if (total <= options.settings.zCloudLimit) return
  const need = options.showsUsed
    ? `this would need ${total} (${options.wanted} here, ${options.others} elsewhere)`
    : `this environment would take ${options.wanted}, and the rest of the account leaves less`
  throw new AppError('invalid', 'Account limit reached: zCloudLimit', {
    details: `The account's zCloudLimit is ${options.settings.zCloudLimit}; ${need}. Choose a smaller zClouds, maxScale or container count, or delete an environment.`,
  })
}
