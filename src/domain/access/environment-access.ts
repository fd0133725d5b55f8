interface Limiting {
  settings: { memberEnvAccessEnabled: boolean }
}

/** An agent that its person narrowed to environments, or to an app. */
export interface NarrowedAgent {
  appEnvIds: readonly string[]
  /** Visible also without environments. */
  appId: string | null
}

interface Limited {
  allowedAppEnvIds: readonly string[]
  agent?: NarrowedAgent | null
}

/** The environments that are visible to a member, or to an agent of theirs; null: every one of the account (M5). */
export function visibleEnvironments(
  { settings }: Limiting,
  { allowedAppEnvIds: listed, agent }: Limited,
): readonly string[] | null {
  const own = settings.memberEnvAccessEnabled && listed.length > 0 ? listed : null
  if (!agent) return own
  return agent.appEnvIds.filter((id) => own?.includes(id) ?? true)
}

/** Whether some environments of the account may be invisible. */
export function isRestricted(account: Limiting, membership: Limited): boolean {
  return visibleEnvironments(account, membership) !== null
}

/** M1: an unrestricted member, or an environment on the list. */
export function mayAccess(account: Limiting, membership: Limited, appEnvId: string): boolean {
  return visibleEnvironments(account, membership)?.includes(appEnvId) ?? true
}
