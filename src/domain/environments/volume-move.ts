import { AppError } from '../../errors.ts'
import type { Environment } from './environment.ts'

type Moving = Pick<Environment, 'region' | 'changingRegion' | 'servedFrom' | 'volumeMove' | 'leftVolumeIn'>

/** From step `copy` on, a change of containers or data would be lost, or would lose data that the copy lacks. */
export function refuseWhileCopying({ volumeMove, region, servedFrom }: Moving): void {
  if (!volumeMove || volumeMove.step === 'prepare') return
  throw new AppError('conflict', 'The environment moves to another region with its volume', {
    details: `Wait until get-app-env shows changingRegion false. stop-app-env gives the move to ${region} up: the environment stays in ${servedFrom} with its data, and is stopped.`,
  })
}

/**
 * Whether containers must stay down: those of the version that waits for the copy, and those of the version whose volume
 * was copied.
 */
export function isHeld({ volumeMove }: Pick<Moving, 'volumeMove'>, startsHere: boolean): boolean {
  return volumeMove?.step === 'copy' || (volumeMove?.step === 'start' && !startsHere)
}

/** The new region has the data from now on. */
export function commitMove(environment: Moving): void {
  if (environment.volumeMove && environment.servedFrom !== undefined)
    environment.leftVolumeIn = environment.servedFrom
  endMove(environment)
}

/** The environment stays in the region that it served from, where its data is. */
export function cancelMove(environment: Moving, stays: string): void {
  const { volumeMove, region } = environment
  if (volumeMove && volumeMove.step !== 'prepare') environment.leftVolumeIn = region
  environment.region = stays
  endMove(environment)
}

export function endMove(environment: Moving): void {
  environment.changingRegion = false
  delete environment.servedFrom
  delete environment.volumeMove
}
