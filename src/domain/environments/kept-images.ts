import type { Content, Environment, Rollout } from './environment.ts'

/** Default number of versions whose images and sources stay for a rollback, besides the ones in use. */
export const defaultKeptVersions = 10

interface VersionUse {
  environment: Pick<Environment, 'currentRolloutId' | 'wantedRolloutId' | 'latestRolloutId'>
  contents: readonly Content[]
  rollouts: readonly Pick<Rollout, 'rolloutId' | 'contentId' | 'status'>[]
  /** Contents that containers are made of, or will be. */
  inUse: ReadonlySet<string>
  keptVersions: number
}

/** The built versions whose images may be removed. Pure. */
export function collectableContents(use: VersionUse): Content[] {
  const kept = keptContents(use)
  return newestFirst(use.contents).filter(
    (content) =>
      content.type === 'BUILD' && Object.keys(content.images).length > 0 && !kept.has(content.contentId),
  )
}

/**
 * Ids of the versions whose images and sources stay: the newest `keptVersions` that were deployed, the one that runs, the
 * newest one, those in progress and those in use. Pure.
 */
export function keptContents(use: VersionUse): ReadonlySet<string> {
  const { currentRolloutId, wantedRolloutId, latestRolloutId } = use.environment
  const named = new Set([currentRolloutId, wantedRolloutId, latestRolloutId])
  const deployed = new Set<string>()
  const kept = new Set(use.inUse)
  for (const { rolloutId, contentId, status } of use.rollouts) {
    if (status === 'DEPLOYED') deployed.add(contentId)
    if (named.has(rolloutId) || status === 'BUILDING' || status === 'DEPLOYING') kept.add(contentId)
  }
  const served = newestFirst(use.contents).filter(({ contentId }) => deployed.has(contentId))
  for (const { contentId } of served.slice(0, use.keptVersions)) kept.add(contentId)
  return kept
}

function newestFirst(contents: readonly Content[]): Content[] {
  return contents.toSorted((a, b) => b.version - a.version)
}

/** A version can be deployed again: it runs from an image of a registry, or its own image was not removed. */
export function isDeployable(content: Content): boolean {
  return content.type === 'IMAGE' || content.removedImages === undefined
}
