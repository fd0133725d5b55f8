import type { App } from '../../contract/apps.ts'
import {
  type BackupResponse,
  type BackupStatus,
  backupFormats,
  type RestoreResponse,
  volumeFormat,
} from '../../contract/backups.ts'
import { AppError } from '../../errors.ts'
import { isDatabase } from '../apps/presets.ts'
import type { Environment } from '../environments/environment.ts'
import { newId } from '../ids.ts'

/** Fields that backups and restores share. */
interface Copy {
  backupId: string
  appEnvId: string
  accountId: string
  status: BackupStatus
  failure: string | null
  /** Region of a volume. */
  region?: string
  /** Part of a move of the environment. */
  ofMove?: true
  /** Why it has not begun; null if nothing keeps it from that. */
  waitingFor?: string | null
  createdBy: string | null
  createdAt: string
  finishedAt: string | null
}

/** What roles other than the user have in a PostgreSQL database, and its own settings. */
export interface DatabaseAccess {
  user: string
  /** How many objects a role owns, and how many grants, default privileges and policies name it. */
  roles: { name: string; owns: number; granted: number }[]
  /** Names of settings of the database, and of roles in it. */
  settings: string[]
  /** Connections are limited, or not everybody may connect. */
  limitsConnections: boolean
}

export interface Backup extends Copy {
  /** Null for formats without roles; absent in backups of versions that did not keep this. */
  access?: DatabaseAccess | null
  envName: string
  dockerPreset: string
  dockerPresetVersion: string
  format: BackupResponse['format']
  sizeBytes: number | null
  sha256: string | null
}

export interface Restore extends Copy {
  restoreId: string
}

export function newBackup(
  { appEnvId, accountId, cliEnvName, dockerPresetVersion }: Environment,
  { dockerPreset }: Pick<App, 'dockerPreset'>,
  more: Pick<Backup, 'format' | 'createdBy' | 'createdAt' | 'region' | 'ofMove'>,
): Backup {
  return {
    ...{ backupId: newId('bak'), appEnvId, accountId, envName: cliEnvName, dockerPreset },
    ...{ dockerPresetVersion: dockerPresetVersion ?? '', status: 'PENDING', sizeBytes: null, sha256: null },
    ...{ failure: null, finishedAt: null, ...more },
  }
}

export function newRestore(
  backup: Pick<Backup, 'backupId' | 'accountId'>,
  more: Pick<Restore, 'appEnvId' | 'createdBy' | 'createdAt' | 'region' | 'ofMove'>,
): Restore {
  const { backupId, accountId } = backup
  const restoreId = newId('rst')
  return { restoreId, backupId, accountId, status: 'PENDING', failure: null, finishedAt: null, ...more }
}

/** Most bytes of one copy before compression, and how long it may take. */
export interface CopyLimits {
  readonly bytes: number
  readonly minutes: number
}

export const defaultCopyLimits: CopyLimits = { bytes: 256e9, minutes: 120 }

/** Limits disk usage; users delete old backups. */
export const mostBackups = 30

export function isOver({ status }: { status: BackupStatus }): boolean {
  return status === 'SUCCEEDED' || status === 'FAILED'
}

type Format = BackupResponse['format']

interface RestoreTarget {
  app: Pick<App, 'dockerPreset'>
  environment: Pick<Environment, 'dockerPresetVersion'>
  format: Format
}

/** How backups of an environment are written; throws if it has none. */
export function backupFormat(app: Pick<App, 'dockerPreset'>, { applied }: Environment): Format {
  if (applied.useVolume) return volumeFormat
  const format = (backupFormats as Partial<Record<string, Format>>)[app.dockerPreset]
  if (format) return format
  throw invalid(
    'Backups are for PostgreSQL, MySQL, Redis and volumes',
    isDatabase(app.dockerPreset)
      ? `This app uses the ${app.dockerPreset} preset. Use the database's own tools with the URL of get-app-env.`
      : 'This environment has no volume in effect (useVolume), and its app is not a database.',
  )
}

/** A database is copied and restored by its own program, so its environment must run or be about to. */
export function checkServes({
  desiredState,
  cliEnvName,
}: Pick<Environment, 'desiredState' | 'cliEnvName'>): void {
  if (desiredState === 'running') return
  throw invalid('The environment is stopped', `Start ${cliEnvName} with start-app-env first.`)
}

/** A database is copied by its program; a volume at any time. */
export function checkCopied(format: Format, environment: Environment): void {
  if (format === volumeFormat) checkDeployed(environment)
  else checkServes(environment)
}

/** A database is replaced by its program; a volume while no program uses it. */
export function checkReplaced(format: Format, environment: Environment): void {
  if (format !== volumeFormat) {
    checkServes(environment)
    return
  }
  checkDeployed(environment)
  if (environment.desiredState === 'stopped') return
  throw invalid(
    'A volume is restored while its environment is stopped',
    `Stop ${environment.cliEnvName} with stop-app-env, restore, then start it: it is down from the stop to the start.`,
  )
}

/** A volume is copied with the image of the environment, so a version must have been deployed. */
function checkDeployed({ currentRolloutId, cliEnvName }: Environment): void {
  if (currentRolloutId !== null) return
  throw invalid('The environment has no volume yet', `Deploy ${cliEnvName} once, which makes its volume.`)
}

/** Rejects a backup of another engine or of a newer version, and an incomplete backup. */
export function checkRestorable(backup: Backup, { app, environment, format }: RestoreTarget): void {
  if (backup.format !== format) {
    const { dockerPreset: from } = backup
    throw backup.format === volumeFormat
      ? invalid(
          'A backup of a volume needs an environment with a volume',
          'Create one with useVolume, deploy and stop it.',
        )
      : invalid(
          `A ${from} backup needs a ${from} environment`,
          `This one is ${app.dockerPreset}. Create an environment of the same preset.`,
        )
  }
  if (format !== volumeFormat) checkVersion(backup, environment.dockerPresetVersion ?? '')
  if (backup.status !== 'SUCCEEDED') {
    throw invalid(
      `The backup is ${backup.status}`,
      backup.status === 'FAILED'
        ? 'get-app-env-backup says why. Take another one.'
        : 'Wait until list-app-env-backups says SUCCEEDED.',
    )
  }
}

/**
 * A database reads data of its older versions. Versions of different programs, such as MySQL and MariaDB, are not
 * compared.
 */
function checkVersion({ dockerPreset, dockerPresetVersion: from }: Backup, into: string): void {
  const [one, other] = [versionOf(from), versionOf(into)]
  if (!one || !other || one.program !== other.program || !isNewer(one.numbers, other.numbers)) return
  throw invalid(
    `A backup of ${dockerPreset} ${from} needs that version or a newer one`,
    `This environment has ${dockerPreset} ${into}. Create one of version ${from}, and restore there.`,
  )
}

/** Parses a version's key, such as `7.4`, `17-pgvector` or `mariadb-10.11`. */
function versionOf(key: string): { program: string; numbers: number[] } | null {
  const [, program = '', numbers] = /^(?:([a-z]+)-)?(\d+(?:\.\d+)*)/.exec(key) ?? []
  return numbers === undefined ? null : { program, numbers: numbers.split('.').map(Number) }
}

function isNewer(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((number, index) => number !== (other[index] ?? 0))
  return at >= 0 && one[at]! > (other[at] ?? 0)
}

function invalid(message: string, details: string): AppError {
  return new AppError('invalid', message, { details })
}

/** Relative to the backup folder. */
export function backupFileName({ appEnvId, backupId, format }: Backup): string {
  return `${appEnvId}/${backupId}.${format === 'pg_dump' ? 'dump' : format}`
}

export function backupResponse(backup: Backup): BackupResponse {
  const { createdBy: _createdBy, region: _region, ofMove: _ofMove, access: _access, ...rest } = backup
  const { waitingFor = null } = backup
  return {
    ...rest,
    waitingFor,
    file: backup.status === 'SUCCEEDED' ? `backups/${backupFileName(backup)}` : null,
  }
}

export function restoreResponse({
  accountId: _accountId,
  createdBy: _createdBy,
  region: _region,
  ofMove: _ofMove,
  waitingFor = null,
  ...rest
}: Restore): RestoreResponse {
  return { ...rest, waitingFor }
}

/** Where the volume of an environment is, while it moves too. */
export function regionOfData(format: Format, { region, servedFrom }: Environment): { region?: string } {
  return format === volumeFormat ? { region: servedFrom ?? region } : {}
}
