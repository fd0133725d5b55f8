import type { Environment, Rollout } from './environment.ts'

/**
 * Which rollout takes requests: the current one, or the wanted one in its stability window if nothing else serves.
 */
export function servingOf(
  environment: Environment,
  current: Rollout | null,
  wanted: Rollout | null,
): Rollout | null {
  // Coming from STOPPED, an earlier version is not brought back while the new one starts.
  const earlier = environment.status === 'PENDING' ? null : current
  if (!wanted?.stability || wanted.status !== 'DEPLOYING') return earlier
  return earlier && !oneAtATime(environment, wanted) ? earlier : wanted
}

/** Since when a rollout that serves takes requests. */
export function servesSince({ deployedAt, stability, createdAt }: Rollout): string {
  return deployedAt ?? stability?.since ?? createdAt
}

/** Two containers never write to one volume, so the earlier version is gone while the new one starts. */
export function oneAtATime(environment: Environment, wanted: Rollout | null): boolean {
  return environment.applied.useVolume || (wanted?.settings.useVolume ?? false)
}
