import type { App } from '../../contract/apps.ts'
import { backupFormats } from '../../contract/backups.ts'
import { AppError } from '../../errors.ts'
import { checkRegion, type RegionFacts } from './creation.ts'
import type { Content, Environment } from './environment.ts'
import { refuseWhileCopying } from './volume-move.ts'

/** Rejects a move that the environment or the region does not allow. */
export function checkMove(
  app: App,
  environment: Environment,
  to: string,
  regions: readonly RegionFacts[],
): void {
  checkRegion(to, app, regions)
  checkMovable(app)
  checkTarget(environment.region, to, regions)
  refuseWhileCopying(environment)
  checkLeftVolume(environment, regions)
  if (copiesVolume(environment, to, regions)) checkCopyable(environment)
}

/** A move does not copy the data of a database, so its environment stays in its region. */
function checkMovable(app: Pick<App, 'isDatabase' | 'dockerPreset'>): void {
  if (app.isDatabase) {
    throw invalid(
      'The region of a managed database cannot change',
      app.dockerPreset in backupFormats
        ? 'Copy it: stop the environments that write to it, create-app-env-backup, create a database of this app in the other region, restore-app-env-backup there with this backup, let the variables refer to it and start the environments. They are down from their stop to their start; the old database stays until you delete it.'
        : "Its data would stay behind. Create a database of this app in the other region and copy the data with the database's own tools.",
    )
  }
}

/** Whether files have to be copied: the regions of one engine of a machine share the volumes. */
export function copiesVolume(
  { applied, region, servedFrom }: Environment,
  to: string,
  regions: readonly RegionFacts[],
): boolean {
  const from = servedFrom ?? region
  if (!applied.useVolume || to === from) return false
  const [one, other] = [from, to].map((name) => regions.find((facts) => facts.region === name))
  return one?.engine === 'kubernetes' || one?.engine !== other?.engine || one?.node !== other?.node
}

/** The containers that a move starts show whether the copy is good. */
function checkCopyable({ cliEnvName, status, currentRolloutId }: Environment): void {
  if (status === 'STOPPED' && currentRolloutId !== null) {
    throw invalid(
      'A stopped environment with a volume cannot move',
      `Start ${cliEnvName} with start-app-env first: the move stops it while its volume is copied, and starts it in the new region.`,
    )
  }
  if (status === 'PENDING') {
    throw invalid(
      'An environment with a volume cannot move before it serves',
      `Wait until get-app-env-status shows ${cliEnvName} as RUNNING.`,
    )
  }
}

/** A region that is unreachable may never remove it, so it does not count. */
function checkLeftVolume({ leftVolumeIn }: Environment, regions: readonly RegionFacts[]): void {
  const left = regions.find(({ region }) => region === leftVolumeIn)
  if (!left || left.available === false) return
  throw new AppError('conflict', 'The volume that an earlier move left is still being removed', {
    details: `It is in ${left.region}. Try again in a moment.`,
  })
}

/** The region takes environments now, and both are run by one control plane. */
function checkTarget(from: string, to: string, regions: readonly RegionFacts[]): void {
  const factsOf = (region: string) => regions.find((one) => one.region === region)
  const target = factsOf(to)
  if (target?.available === false) {
    throw invalid(
      'The region is not available',
      `${target.unavailableReason ?? 'Its engine does not answer'}. Move the environment when ${to} is available again.`,
    )
  }
  // Containers of the old region serve until those of the new one do, and one machine must see both. A cluster has none.
  const nodeOf = (region: string) => factsOf(region)?.node
  const isCluster = (region: string) => factsOf(region)?.engine === 'kubernetes'
  if (isCluster(from) || isCluster(to) || nodeOf(from) === nodeOf(to)) return
  throw invalid(
    'An environment cannot move to another machine',
    `The region ${from} runs on ${nodeOf(from) ?? 'an unknown machine'}, ${to} on ${nodeOf(to)}. Create a new environment in ${to} and deploy there.`,
  )
}

/** The version that runs can be made in the region: its image is built there again, or pulled. */
export function checkContentMoves(
  { type, images }: Pick<Content, 'type' | 'images'>,
  to: string,
  regions: readonly RegionFacts[],
): void {
  if (to in images) return
  const target = regions.find(({ region }) => region === to)
  if (type === 'BUILD' && target?.capabilities?.builds === false) {
    throw invalid(
      'The version cannot be built in this region',
      `It was built from source, and ${to} builds no images. Deploy an image with deploy-app-env-image first, or set buildkit and registry of the region.`,
    )
  }
  if (type === 'IMAGE' && target?.engine === 'process') {
    throw invalid(
      'The version cannot run in this region',
      `It is an image, and ${to} runs source without containers. Deploy its source first.`,
    )
  }
}

function invalid(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}
