import { readableBytes } from '../amounts.ts'
import type { Client } from '../client/client.ts'
import { sleep, systemClock } from '../clock.ts'
import { createAppEnv, getAppEnv } from '../contract/app-envs.ts'
import {
  type BackupResponse,
  type createAppEnvBackup,
  getAppEnvBackup,
  type listAppEnvBackups,
  type RestoreResponse,
  restoreAppEnvBackup,
  volumeFormat,
} from '../contract/backups.ts'
import type { OutputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from './command.ts'
import { exitCodes, UsageError } from './command-io.ts'
import { printDryRun } from './dry-run.ts'
import { namesOf } from './names/lookup.ts'
import { printable } from './progress.ts'
import { aligned } from './render.ts'
import type { RowExtension } from './rows/extension.ts'
import { positionalHelp } from './rows/field-help.ts'

const pauseMs = 300

type Backups = OutputOf<typeof listAppEnvBackups>
type NamedRestore = RestoreResponse & { envName: string }
type NamedBackups = { backups: BackupResponse[]; restores: NamedRestore[] }

/** `backup create` waits until the file is complete. */
export const newBackupExtension: RowExtension = {
  async complete({ cli, client }, answer: OutputOf<typeof createAppEnvBackup>) {
    const { backupId } = answer.backup
    cli.io.stderr.write(`Taking ${backupId} …\n`)
    return { ...answer, backup: await ended(client, backupId, ({ backup }) => backup) }
  },
  render: ({ backup }: OutputOf<typeof createAppEnvBackup>) => backupLines([backup]),
}

/** `backup list`: also finds the backups of a deleted environment by its name. */
export const backupListExtension: RowExtension = {
  everyAccount: true,
  argument: ['[environment]', 'only those of this one: its id, or its name in URLs'],
  async complete(
    { client, args: [environment], input },
    { backups, restores }: Backups,
  ): Promise<NamedBackups> {
    const isShown = (one: { appEnvId: string; envName: string }) =>
      environment === undefined || [one.appEnvId, one.envName].includes(environment)
    const accountIds = input.accountId ? [String(input.accountId)] : accountsOf(backups, restores)
    const names = await namesOfAccounts(client, accountIds, restores)
    const named = restores.map((one) => ({ ...one, envName: names.get(one.appEnvId) ?? one.appEnvId }))
    return { backups: backups.filter(isShown), restores: named.filter(isShown) }
  },
  render: ({ backups, restores }: NamedBackups) => [...backupLines(backups), ...restoreLines(restores)],
}

/** A restore does not name its account: it is that of its backup. */
function accountsOf(backups: readonly BackupResponse[], restores: readonly RestoreResponse[]): string[] {
  const restored = new Set(restores.map(({ backupId }) => backupId))
  const found = backups.filter(({ backupId }) => restored.has(backupId))
  return [...new Set(found.map(({ accountId }) => accountId))]
}

/** Restores have the names that their environments have now. */
async function namesOfAccounts(
  client: Client,
  accountIds: readonly string[],
  restores: readonly RestoreResponse[],
): Promise<Map<string, string>> {
  const ids = restores.map(({ appEnvId }) => appEnvId)
  const names = await Promise.all(accountIds.map((accountId) => namesOf(client, accountId, ids)))
  return new Map(names.flatMap((ofAccount) => [...ofAccount]))
}

/** `longshore restore`. */
export function addRestoreCommand(program: CliCommand, cli: Cli, done: Done): void {
  program
    .command('restore')
    .summary('restore a backup into a new or an existing environment')
    .description(
      'Restores a backup into a new or an existing environment. longshore backup list shows the backups.',
    )
    .argument('<backupId>', positionalHelp('backupId'))
    .option(
      '--env <environment>',
      'replaces ALL data of that environment, which must be stopped if it has a volume; needs --yes',
    )
    .option('--new-env <name>', 'creates an environment with that name in the same app, and restores into it')
    .option('--yes', 'confirm that all data of --env is replaced')
    .option('--dry-run', 'check the call and show what would change; only with --env')
    .runs(cli, done, async ([backupId = ''], { env, newEnv, yes, dryRun = false }) => {
      if ((env === undefined) === (newEnv === undefined))
        throw new UsageError('give either --env or --new-env')
      if (env === undefined && dryRun) throw new UsageError('--dry-run requires --env')
      const { client } = await connected(cli)
      if (env !== undefined && yes !== true && !dryRun) {
        // A dry run first, so that a refusal, such as a volume in use, comes before the question.
        await client.call(restoreAppEnvBackup, { ...environmentRef(String(env)), backupId }, { dryRun: true })
        throw new UsageError('this replaces all data of the environment; confirm it with --yes')
      }
      if (dryRun) {
        const input = { ...environmentRef(String(env)), backupId }
        return printDryRun(cli, client, restoreAppEnvBackup, input)
      }
      const ref =
        env === undefined ? await madeBeside(client, backupId, String(newEnv)) : environmentRef(String(env))
      const { restore, appEnv } = await client.call(restoreAppEnvBackup, { ...ref, backupId })
      const { cliEnvName } = await client.call(getAppEnv, { appEnvId: appEnv.appEnvId })
      cli.io.stderr.write(`Restoring into ${cliEnvName} …\n`)
      const mine = (answer: { restores: RestoreResponse[] }) =>
        answer.restores.find(({ restoreId }) => restoreId === restore.restoreId)
      await ended(client, backupId, mine)
      cli.io.stderr.write(`Restored into ${cliEnvName}; its id:\n`)
      print(cli, { appEnvId: appEnv.appEnvId, backupId }, [appEnv.appEnvId])
      return exitCodes.done
    })
}

/** Creates an environment with the app, size and version of the backup's environment. */
async function madeBeside(client: Client, backupId: string, name: string): Promise<{ appEnvId: string }> {
  const { backup } = await client.call(getAppEnvBackup, { backupId })
  const { appEnvId, accountId, dockerPresetVersion, format } = backup
  if (format === volumeFormat)
    throw new UsageError('a volume has to be there: deploy an environment with one, stop it, and give --env')
  const { appId, region, zClouds, disk } = await client.call(getAppEnv, { appEnvId })
  const size = { zClouds, disk, dockerPresetVersion }
  return await client.call(createAppEnv, { accountId, appId, name, region, ...size })
}

/** Waits until the work has ended; throws the platform's failure message. */
async function ended<One extends BackupResponse | RestoreResponse>(
  client: Client,
  backupId: string,
  pick: (answer: { backup: BackupResponse; restores: RestoreResponse[] }) => One | undefined,
): Promise<One> {
  for (;;) {
    const one = pick(await client.call(getAppEnvBackup, { backupId }))
    if (one?.status === 'SUCCEEDED') return one
    if (one?.status === 'FAILED') {
      throw new AppError('conflict', `The ${'restoreId' in one ? 'restore' : 'backup'} failed`, {
        details: one.failure ?? 'The platform reported no reason.',
      })
    }
    await sleep(systemClock, pauseMs)
  }
}

function backupLines(backups: readonly BackupResponse[]): string[] {
  if (backups.length === 0) {
    return ['There are no backups. Make one: longshore backup create <environment>']
  }
  const rows = backups.map(({ backupId, createdAt, envName, status, sizeBytes, file, sha256 }) => [
    backupId,
    envName,
    createdAt,
    status,
    sizeBytes === null ? '-' : readableBytes(sizeBytes),
    file ?? '-',
    sha256 ?? '-',
  ])
  return aligned([
    ['backupId', 'environment', 'createdAt', 'status', 'size', 'file in the data directory', 'sha256'],
    ...rows,
  ])
}

function restoreLines(restores: readonly NamedRestore[]): string[] {
  if (restores.length === 0) return []
  const rows = restores.map(({ restoreId, backupId, createdAt, envName, status, failure }) => [
    restoreId,
    envName,
    createdAt,
    status,
    backupId,
    printable(failure ?? '-'),
  ])
  return ['', ...aligned([['restoreId', 'into', 'createdAt', 'status', 'of backup', 'failure'], ...rows])]
}
