import { parseArgs } from 'node:util'
import { type Client, createClient } from '../client/client.ts'
import { sleep, systemClock } from '../clock.ts'
import { readConfig } from '../config.ts'
import { listAccounts } from '../contract/accounts.ts'
import { createAppEnv, getAppEnv } from '../contract/app-envs.ts'
import {
  type BackupAnswer,
  createAppEnvBackup,
  deleteAppEnvBackup,
  getAppEnvBackup,
  listAppEnvBackups,
  type RestoreAnswer,
  restoreAppEnvBackup,
} from '../contract/backups.ts'
import { AppError } from '../errors.ts'
import { type CommandIo, errorText, exitCodes, processIo, UsageError } from './command-io.ts'
import { resolveConnection } from './local-installation.ts'

const usage = `longshore backup <what>

  create --env <env>            copy a database into a file, and wait until it is done
  list [--env <env>]            the backups, newest first; also those of deleted environments
  delete <backupId> --yes       delete a backup and its file for good

longshore restore <backupId> (--env <env> --yes | --new-env <name>)

  --env       replaces ALL data of that environment by the backup's; --yes says that you mean it
  --new-env   makes an environment of that name beside the one the backup is of, and fills it

<env> is an environment id or its cliEnvName. Backups lie in LONGSHORE_HOME/backups, readable for their owner only.
LONGSHORE_URL and LONGSHORE_TOKEN name the platform; without them the local installation is used.
`

const pauseMs = 300

interface Run {
  client: Client
  io: CommandIo
}

type Perform = (run: Run) => Promise<void>

/** `longshore backup` and `longshore restore`: resolves to the exit code, failed when the copy failed. */
export async function runBackup(
  command: 'backup' | 'restore',
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo = processIo,
): Promise<number> {
  const words = command === 'restore' ? ['restore', ...argv] : [...argv]
  const [what = '--help', ...rest] = words
  try {
    if ([what, ...rest].some((word) => word === '--help' || word === '-h')) {
      io.stdout.write(usage)
      return exitCodes.done
    }
    const found = Object.hasOwn(commands, what) ? commands[what] : undefined
    if (!found) throw new UsageError(`there is no backup command ${JSON.stringify(what)}`)
    const perform = found(rest)
    const connection = await resolveConnection(readConfig(env))
    await perform({ client: createClient({ ...connection, surface: 'cli' }), io })
    return exitCodes.done
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`Error: ${error.message}.\nSee: longshore ${command} --help\n`)
      return exitCodes.usage
    }
    io.stderr.write(`${errorText(error)}\n`)
    return exitCodes.failed
  }
}

const commands: Record<string, (argv: string[]) => Perform> = {
  create(argv) {
    const { values } = parsed(argv, { env: { type: 'string' } })
    const ref = environmentRef(values.env)
    return async ({ client, io }) => {
      const { backup } = await client.call(createAppEnvBackup, ref)
      io.stderr.write(`Taking ${backup.backupId} …\n`)
      const done = await ended(client, backup.backupId, (answer) => answer.backup)
      io.stdout.write(`${backupLine(done)}\n`)
    }
  },
  list(argv) {
    const { values } = parsed(argv, { env: { type: 'string' } })
    return async ({ client, io }) => {
      const wanted = values.env === undefined ? null : environmentRef(values.env)
      const { accounts } = await client.call(listAccounts, {})
      for (const { accountId } of accounts) {
        const { backups } = await client.call(listAppEnvBackups, { accountId })
        const shown = backups.filter((one) => !wanted || [one.appEnvId, one.envName].includes(nameOf(wanted)))
        for (const backup of shown) io.stdout.write(`${backupLine(backup)}\n`)
      }
    }
  },
  delete(argv) {
    const { values, positionals } = parsed(argv, { yes: { type: 'boolean' } })
    const backupId = oneId(positionals)
    if (values.yes !== true) throw new UsageError('--yes says that the backup is to be gone for good')
    return async ({ client, io }) => {
      io.stderr.write(`${(await client.call(deleteAppEnvBackup, { backupId })).message}.\n`)
    }
  },
  restore(argv) {
    const options = {
      env: { type: 'string' },
      'new-env': { type: 'string' },
      yes: { type: 'boolean' },
    } as const
    const { values, positionals } = parsed(argv, options)
    const backupId = oneId(positionals)
    const name = values['new-env']
    if ((values.env === undefined) === (name === undefined))
      throw new UsageError('name one of --env and --new-env')
    if (values.env !== undefined && values.yes !== true)
      throw new UsageError('--yes says that all data of that environment is to be replaced')
    return async ({ client, io }) => {
      const ref =
        typeof name === 'string' ? await madeBeside(client, backupId, name) : environmentRef(values.env)
      const { restore, appEnv } = await client.call(restoreAppEnvBackup, { ...ref, backupId })
      io.stderr.write(`Restoring into ${appEnv.name} …\n`)
      const mine = (answer: { restores: RestoreAnswer[] }) =>
        answer.restores.find(({ restoreId }) => restoreId === restore.restoreId)
      await ended(client, backupId, mine)
      io.stdout.write(`${appEnv.appEnvId}\n`)
    }
  },
}

/** An environment of the same app, size and version as the one the backup is of. */
async function madeBeside(client: Client, backupId: string, name: string): Promise<{ appEnvId: string }> {
  const { backup } = await client.call(getAppEnvBackup, { backupId })
  const { appEnvId, accountId, dockerPresetVersion } = backup
  const { appId, region, zClouds, disk } = await client.call(getAppEnv, { appEnvId })
  const size = { zClouds, disk, dockerPresetVersion }
  return await client.call(createAppEnv, { accountId, appId, name, region, ...size })
}

/** Waits for the end; a failure is an error in the platform's words. */
async function ended<One extends BackupAnswer | RestoreAnswer>(
  client: Client,
  backupId: string,
  pick: (answer: { backup: BackupAnswer; restores: RestoreAnswer[] }) => One | undefined,
): Promise<One> {
  for (;;) {
    const one = pick(await client.call(getAppEnvBackup, { backupId }))
    if (one?.status === 'SUCCEEDED') return one
    if (one?.status === 'FAILED') {
      throw new AppError('invalid', 'It failed', { details: one.failure ?? 'The platform does not say why.' })
    }
    await sleep(systemClock, pauseMs)
  }
}

function backupLine({ backupId, envName, createdAt, status, sizeBytes, sha256, file }: BackupAnswer): string {
  const size = sizeBytes === null ? '-' : `${sizeBytes} bytes`
  return [backupId, createdAt, envName, status, size, sha256 ?? '-', file ?? '-'].join('  ')
}

function environmentRef(env: unknown): { appEnvId: string } | { envName: string } {
  if (typeof env !== 'string' || env === '') throw new UsageError('--env names the environment')
  return /^env_/.test(env) ? { appEnvId: env } : { envName: env }
}

function nameOf(ref: { appEnvId: string } | { envName: string }): string {
  return 'appEnvId' in ref ? ref.appEnvId : ref.envName
}

function oneId(positionals: readonly string[]): string {
  const [backupId, ...more] = positionals
  if (backupId !== undefined && more.length === 0) return backupId
  throw new UsageError('name one backupId; backup list shows them')
}

function parsed<const Options extends NonNullable<Parameters<typeof parseArgs>[0]>['options']>(
  argv: string[],
  options: Options,
) {
  try {
    return parseArgs({ args: argv, options, allowPositionals: true })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
