import { timestamp } from '../../clock.ts'
import { volumeFormat } from '../../contract/backups.ts'
import { type Backup, newBackup, newRestore, type Restore } from '../../domain/backups/backup.ts'
import type { Environment, Rollout } from '../../domain/environments/environment.ts'
import { isHeld } from '../../domain/environments/volume-move.ts'
import type { Engine } from '../../engines/engine.ts'
import type { Log } from '../../log.ts'
import type { Db, Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import {
  findBackup,
  findRestore,
  insertBackup,
  insertRestore,
  isRestoring,
  saveBackup,
  saveRestore,
} from '../../store/repositories/backups.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import { findRollout } from '../../store/repositories/rollouts.ts'
import { volumeName } from './container-spec.ts'
import type { EnvironmentView, RolloutView } from './environment-view.ts'
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
  const part = { createdBy, createdAt, ofMove: true, ...(region === undefined ? {} : { region }) } as const
  const backup = newBackup(environment, stored.app, { format: volumeFormat, ...part })
  await insertBackup(tx, backup)
  environment.volumeMove = { step: 'copy', backupId: backup.backupId }
}

/** A backup or restore of a move has ended: the next step is stored with its outcome, so that a crash loses neither. */
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
    if (rollout) await giveUp(tx, environment, rollout, { reason: 'volume copy', message }, now)
  } else if (isRestore) move.step = 'start'
  else {
    const { createdBy } = ended
    const restore = newRestore(ended, { appEnvId, createdBy, createdAt: now, region, ofMove: true })
    await insertRestore(tx, restore)
    move.restoreId = restore.restoreId
  }
  await saveEnvironment(tx, environment)
}

/** How long a copy may wait to begin. */
const patienceMs = 300_000

/** Ends a move whose next copy does not begin: its region is unreachable, or no control plane runs it. */
export async function giveUpIdleCopy(tx: Tx, environment: Environment, nowMs: number): Promise<boolean> {
  const { backupId, restoreId } = environment.volumeMove ?? {}
  const restore = restoreId === undefined ? null : await findRestore(tx, restoreId)
  const copy = restore ?? (backupId === undefined ? null : await findBackup(tx, backupId))
  if (copy?.status !== 'PENDING' || nowMs - Date.parse(copy.createdAt) < patienceMs) return false
  const finishedAt = timestamp(nowMs)
  const failure = `The region ${copy.region} did not begin within ${patienceMs / 60_000} minutes.`
  const ended = { ...copy, status: 'FAILED' as const, failure, finishedAt }
  await ('restoreId' in ended ? saveRestore(tx, ended) : saveBackup(tx, ended))
  await copyEnded(tx, ended, finishedAt)
  return true
}

interface MoveDeps {
  db: Db
  log: Log
  isHere(region: string): boolean
  engineOf(region: string): Engine
  rollouts: {
    beginCopy(appEnvId: string, rolloutId: string): Promise<boolean>
    giveUpIdleCopy(appEnvId: string): Promise<boolean>
    leftVolumeRemoved(appEnvId: string, region: string): Promise<void>
  }
}

/** Does the steps of a move that are not about containers; false while one is unfinished, or if it changed the view. */
export async function continueMove(whole: EnvironmentView, deps: MoveDeps): Promise<boolean> {
  const { appEnvId, region, wantedRolloutId, volumeMove, leftVolumeIn } = whole.environment
  const { rollouts } = deps
  if (
    deps.isHere(region) &&
    wantedRolloutId !== null &&
    volumeMove?.step === 'prepare' &&
    hasImage(whole.wanted)
  ) {
    await rollouts.beginCopy(appEnvId, wantedRolloutId)
    return false
  }
  if (volumeMove?.step === 'copy') return !(await rollouts.giveUpIdleCopy(appEnvId))
  if (leftVolumeIn === undefined || !deps.isHere(leftVolumeIn)) return true
  return removeLeftVolume(whole, leftVolumeIn, deps).catch((error) => {
    deps.log.warn({ err: error, appEnvId }, 'a volume that moved is not removed yet; retrying')
    return false
  })
}

/** The version being brought in, once it has its image and need not wait for a volume. */
export function startable({ environment, wanted }: EnvironmentView): RolloutView | null {
  return environment.volumeMove?.step !== 'prepare' && hasImage(wanted) ? wanted : null
}

function hasImage(wanted: RolloutView | null): boolean {
  return wanted?.rollout.status === 'DEPLOYING' && wanted.rollout.region in wanted.content.images
}

/** Removes the leftovers of a move from a region; false while containers or a copy there still need them. */
async function removeLeftVolume(
  { environment, pods, current }: EnvironmentView,
  region: string,
  { db, engineOf, rollouts }: MoveDeps,
): Promise<boolean> {
  const { appEnvId, accountId, cliEnvName: envName, applied } = environment
  const isNeeded = [environment.region, environment.servedFrom].includes(region)
  if (!isNeeded) {
    const isCopied = await db.read((tx) => isRestoring(tx, appEnvId, region))
    if (isCopied || pods.some((pod) => pod.region === region)) return false
    const mount = { volume: volumeName, path: applied.mountPath ?? '/' }
    const image = current?.content.images[region] ?? ''
    await engineOf(region).volumes?.remove({ appEnvId, accountId, envName, mount, image })
  }
  await rollouts.leftVolumeRemoved(appEnvId, region)
  return true
}
