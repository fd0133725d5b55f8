import { volumeFormat } from '../../contract/backups.ts'
import { type Backup, newBackup, newRestore, type Restore } from '../../domain/backups/backup.ts'
import type { Environment, Rollout } from '../../domain/environments/environment.ts'
import { isHeld } from '../../domain/environments/volume-move.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Log } from '../../log.ts'
import type { Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { insertBackup, insertRestore } from '../../store/repositories/backups.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import { findRollout } from '../../store/repositories/rollouts.ts'
import { mountsOf } from './container-spec.ts'
import type { EnvironmentView } from './environment-view.ts'
import { giveUp } from './verdict.ts'

/** Whether no container of this part of an environment may run: its volume is being copied, or was copied from here. */
export function holds({ environment, wanted }: EnvironmentView): boolean {
  return isHeld(environment, wanted !== null)
}

/** From now on nothing of the environment runs until the copy is restored. The caller saves the environment. */
export async function beginCopy(
  tx: Tx,
  environment: Environment,
  { createdBy }: Rollout,
  createdAt: string,
): Promise<void> {
  const stored = await findApp(tx, environment.appId)
  if (!stored || environment.volumeMove?.step !== 'prepare') return
  const region = environment.servedFrom
  const backup = newBackup(environment, stored.app, { format: volumeFormat, createdBy, createdAt, region })
  await insertBackup(tx, backup)
  environment.volumeMove = { step: 'copy', backupId: backup.backupId }
}

/** A backup or restore of a move has ended: what follows is stored with its outcome, so that a crash loses neither. */
export async function copyEnded(tx: Tx, ended: Backup | Restore, now: string): Promise<void> {
  const environment = await findEnvironment(tx, { appEnvId: ended.appEnvId })
  const move = environment?.volumeMove
  const isRestore = 'restoreId' in ended
  const isOwn = isRestore ? ended.restoreId === move?.restoreId : ended.backupId === move?.backupId
  if (!environment || move?.step !== 'copy' || !isOwn) return
  const { appEnvId, region, wantedRolloutId } = environment
  if (ended.status === 'FAILED') {
    const rollout = wantedRolloutId && (await findRollout(tx, wantedRolloutId))
    const message = `The volume could not be copied to ${region}: ${ended.failure}`
    if (rollout) await giveUp(tx, environment, rollout, { reason: 'interrupted', message }, now)
  } else if (isRestore) move.step = 'start'
  else {
    const { createdBy } = ended
    const restore = { ...newRestore(ended, { appEnvId, createdBy, createdAt: now }), region }
    await insertRestore(tx, restore)
    move.restoreId = restore.restoreId
  }
  await saveEnvironment(tx, environment)
}

interface MoveDeps {
  log: Log
  isHere(region: string): boolean
  engineOf(region: string): Engine
  transitions: {
    beginCopy(appEnvId: string, rolloutId: string): Promise<boolean>
    leftVolumeRemoved(appEnvId: string, region: string): Promise<void>
  }
}

/** What a move with a volume needs of a runtime beside containers; false if it is not done yet. */
export async function continueMove(whole: EnvironmentView, deps: MoveDeps): Promise<boolean> {
  const { appEnvId, region, wantedRolloutId } = whole.environment
  if (deps.isHere(region) && wantedRolloutId !== null && awaitsCopy(whole))
    return !(await deps.transitions.beginCopy(appEnvId, wantedRolloutId))
  try {
    await removeLeftVolume(whole, deps)
    return true
  } catch (error) {
    deps.log.warn({ err: error, appEnvId }, 'a volume that moved is not removed yet; retrying')
    return false
  }
}

/** Its image is there, and the volume has still to be copied. */
function awaitsCopy({ environment, wanted }: EnvironmentView): boolean {
  return (
    environment.volumeMove?.step === 'prepare' &&
    wanted?.rollout.status === 'DEPLOYING' &&
    wanted.rollout.region in wanted.content.images
  )
}

/** Removes what a move left in a region of this runtime, once nothing runs there. */
async function removeLeftVolume(
  { environment, pods, current }: EnvironmentView,
  { isHere, engineOf, transitions }: MoveDeps,
): Promise<void> {
  const { appEnvId, leftVolumeIn: region, accountId, cliEnvName: envName } = environment
  if (region === undefined || !isHere(region) || pods.some((pod) => pod.region === region)) return
  const [mount] = mountsOf(environment.applied).mounts ?? []
  const image = current?.content.images[region] ?? ''
  if (mount) await engineOf(region).volumes?.remove({ appEnvId, accountId, envName, mount, image })
  await transitions.leftVolumeRemoved(appEnvId, region)
}
