import { renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { systemClock, timestamp } from '../clock.ts'
import { readConfig } from '../config/config.ts'
import type { OutputOf } from '../contract/operation.ts'
import { createUserToken, listUserTokens, revokeUserToken } from '../contract/users.ts'
import { AppError } from '../errors.ts'
import { type Cli, type CliCommand, connected, type Done, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { readAdminToken } from './local/installation.ts'
import type { RowExtension } from './rows/extension.ts'

const dayMs = 86_400_000

/** `token create`: only the new token goes to standard output. */
export const newTokenExtension: RowExtension = {
  prepare(input, { expiresAt }) {
    Object.assign(input, expiry(expiresAt))
  },
  print({ cli, input }, made: OutputOf<typeof createUserToken>) {
    const who = input.kind === 'agent' ? ' for an agent' : ''
    const kind = `${input.readOnly === true ? 'read-only token' : 'token'}${who}`
    const end = made.expiresAt === null ? '' : `, which expires at ${made.expiresAt}`
    cli.io.stderr.write(`Created the ${kind} ${made.tokenId}${end}. It is shown once:\n`)
    print(cli, made, [made.token])
  },
}

/** `token rotate`, which makes a token and revokes another one. */
export function addRotateCommand(token: CliCommand, cli: Cli, done: Done): void {
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
  const made = await client.call(createUserToken, {
    name: name || 'rotated',
    readOnly,
    ...expiry(expiresAt),
    ...limitsOf(current),
  })
  if ((await readAdminToken(home)) === old) {
    const file = path.join(home, 'admin-token')
    writeFileSync(`${file}.new`, `${made.token}\n`, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    cli.io.stderr.write(`Wrote the new token to ${file}.\n`)
  }
  await client.call(revokeUserToken, { tokenId })
  cli.io.stderr.write('The old token no longer works. The new one is shown once:\n')
  print(cli, made, [made.token])
  return exitCodes.done
}

type ListedToken = OutputOf<typeof listUserTokens>['tokens'][number]

/** The kind and the limits of a token, as an input. */
function limitsOf(token: ListedToken) {
  const { kind, label, scopes, accountId, appId, appEnvIds, toolGroups, mayPropose } = token
  const given = Object.entries({ label, scopes, accountId, appId, appEnvIds, toolGroups })
  return { kind, mayPropose, ...Object.fromEntries(given.filter(([, value]) => value !== null)) }
}
