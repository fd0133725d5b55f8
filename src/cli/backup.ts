import { readableBytes } from '../amounts.ts'
import type { Client } from '../client/client.ts'
import { sleep, systemClock } from '../clock.ts'
import { listAccounts } from '../contract/accounts.ts'
import { createAppEnv, getAppEnv } from '../contract/app-envs.ts'
import {
  type BackupResponse,
  createAppEnvBackup,
  getAppEnvBackup,
  listAppEnvBackups,
  type RestoreResponse,
  restoreAppEnvBackup,
  volumeFormat,
} from '../contract/backups.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done, environmentRef, print } from './command.ts'
import { exitCodes, UsageError } from './command-io.ts'
import { addDryRun, printDryRun } from './dry-run.ts'
import { namesOf } from './names/lookup.ts'
import { printable } from './progress.ts'
import { aligned } from './render.ts'
import { positionalHelp } from './rows/field-help.ts'

const pauseMs = 300

/** Commands of `longshore backup` that wait, or search all accounts. */
export function addBackupCommands(backup: CliCommand, cli: Cli, done: Done): void {
  addDryRun(
    backup
      .command('create')
      .description('copy a database or volume into a file, and wait until it is done')
      .argument('<environment>', 'its id, or its name in URLs'),
  ).runs(cli, done, async ([environment = ''], { dryRun }) => {
    const ref = environmentRef(environment)
    const { client } = await connected(cli)
    if (dryRun === true) return printDryRun(cli, client, createAppEnvBackup, ref)
    const { backup } = await client.call(createAppEnvBackup, ref)
    cli.io.stderr.write(`Taking ${backup.backupId} …\n`)
    const made = await ended(client, backup.backupId, (answer) => answer.backup)
    print(cli, { backup: made }, backupLines([made]))
    return exitCodes.done
  })
  backup
    .command('list')
    .description('the backups and the last restores, newest first; also those of deleted environments')
    .argument('[environment]', 'only those of this one: its id, or its name in URLs')
    .runs(cli, done, async ([env]) => {
      const { client } = await connected(cli)
      const { accounts } = await client.call(listAccounts, {})
      const lists = await Promise.all(accounts.map(({ accountId }) => listOf(client, accountId)))
      const isShown = (one: { appEnvId: string; envName: string }) =>
        env === undefined || [one.appEnvId, one.envName].includes(env)
      const backups = lists.flatMap((list) => list.backups).filter(isShown)
      const restores = lists.flatMap((list) => list.restores).filter(isShown)
      print(cli, { backups, restores }, [...backupLines(backups), ...restoreLines(restores)])
      return exitCodes.done
    })
}

type NamedRestore = RestoreResponse & { envName: string }

/** Restores have the names that their environments have now. */
async function listOf(client: Client, accountId: string) {
  const { backups, restores } = await client.call(listAppEnvBackups, { accountId })
  const ids = restores.map(({ appEnvId }) => appEnvId)
  const names = await namesOf(client, accountId, ids)
  const named = (one: RestoreResponse) => ({ ...one, envName: names.get(one.appEnvId) ?? one.appEnvId })
  return { backups, restores: restores.map(named) }
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
        // First what refuses the call, such as a volume in use.
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

/** Waits for the end; throws the platform's failure message. */
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
