import { renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Option } from 'commander'
import { systemClock, timestamp } from '../clock.ts'
import { readConfig } from '../config/config.ts'
import { createUserToken, listUserTokens, revokeUserToken } from '../contract/users.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done } from './command.ts'
import { exitCodes } from './command-io.ts'
import { addDryRun, printDryRun } from './dry-run.ts'
import { readAdminToken } from './local/installation.ts'

const dayMs = 86_400_000

/** `token create` and `token rotate` print only the new token on standard output. */
export function addTokenCommands(token: CliCommand, cli: Cli, done: Done): void {
  addDryRun(token.command('create'))
    .description('create another token of yours; it is printed once')
    .needs(new Option('--name <name>', 'what the token is for'))
    .option('--read-only', 'a token that cannot change anything, for agents that should only read')
    .option('--expires-at <time>', 'when it expires: an ISO 8601 time, or a number of days such as 30d')
    .runs(cli, done, async (_args, { name, readOnly = false, expiresAt, dryRun }) => {
      const { client } = await connected(cli)
      const wanted = { name, readOnly, ...expiry(expiresAt) }
      if (dryRun === true) return printDryRun(cli, client, createUserToken, wanted)
      const made = await client.call(createUserToken, wanted)
      const { tokenId, token } = made
      const end = made.expiresAt === null ? '' : `, which expires at ${made.expiresAt}`
      cli.io.stderr.write(
        `Created the ${readOnly ? 'read-only ' : ''}token ${tokenId}${end}. It is shown once:\n`,
      )
      cli.io.stdout.write(cli.json ? `${JSON.stringify(made)}\n` : `${token}\n`)
      return exitCodes.done
    })
  token
    .command('rotate')
    .description(
      "replace this command's token with a new one, printed once; a local admin-token file is rewritten",
    )
    .runs(cli, done, () => rotate(cli))
}

/** Days become a time here; the platform checks times. */
function expiry(given: unknown): { expiresAt?: string } {
  if (typeof given !== 'string') return {}
  const days = /^(\d{1,5})d$/.exec(given)?.[1]
  return { expiresAt: days ? timestamp(systemClock.wallMs() + Number(days) * dayMs) : given }
}

/** Creates and saves the new token before revoking the old one, so that a crash leaves a valid one. */
async function rotate(cli: Cli): Promise<number> {
  const { home } = readConfig(cli.env)
  const { client, token: old } = await connected(cli)
  const { tokens } = await client.call(listUserTokens, {})
  const current = tokens.find((token) => token.current)
  if (!current) {
    throw new AppError('not-found', 'The token of this command is not listed', {
      details: 'It was revoked or rotated in the meantime. Use the new token, or another one of yours.',
    })
  }
  const { name, readOnly, tokenId, expiresAt } = current
  const made = await client.call(createUserToken, { name: name || 'rotated', readOnly, ...expiry(expiresAt) })
  if ((await readAdminToken(home)) === old) {
    const file = path.join(home, 'admin-token')
    writeFileSync(`${file}.new`, `${made.token}\n`, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    cli.io.stderr.write(`Wrote the new token to ${file}.\n`)
  }
  await client.call(revokeUserToken, { tokenId })
  cli.io.stderr.write('The old token no longer works. The new one is shown once:\n')
  cli.io.stdout.write(cli.json ? `${JSON.stringify(made)}\n` : `${made.token}\n`)
  return exitCodes.done
}
