interface Limiting {
  settings: { memberEnvAccessEnabled: boolean }
}

interface Limited {
  allowedAppEnvIds: readonly string[]
}

/** Whether the account restricts access by environment and the member has a list of environments (M5). */
export function isRestricted(account: Limiting, membership: Limited): boolean {
  return account.settings.memberEnvAccessEnabled && membership.allowedAppEnvIds.length > 0
}

/** M1: an unrestricted member, or an environment on the list. */
export function mayAccess(account: Limiting, membership: Limited, appEnvId: string): boolean {
  return !isRestricted(account, membership) || membership.allowedAppEnvIds.includes(appEnvId)
}
