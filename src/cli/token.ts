import { renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Client, createClient } from '../client/client.ts'
import { type Config, readConfig } from '../config.ts'
import { createUserToken, listUserTokens, revokeUserToken } from '../contract/users.ts'
import { AppError } from '../errors.ts'
import { type CommandIo, errorText, exitCodes, processIo, UsageError } from './command-io.ts'
import { readAdminToken, resolveConnection } from './local-installation.ts'

const usage = `longshore token <what>

  create --name <name> [--read-only]  make one more token of yours; it is printed once
  list                                your tokens, without the tokens themselves
  revoke <tokenId>                    the token is dead on its next request
  rotate                              replace the token of this command by a new one, printed once

A read-only token can change nothing, whatever you may: give it to an agent that should only look.
LONGSHORE_URL and LONGSHORE_TOKEN name the platform; without them the local installation is used, and rotate
also writes the new token into its admin-token file.
`

interface Run {
  client: Client
  config: Config
  token: string
  io: CommandIo
}

/** `longshore token`: resolves to the exit code. A made token is the only thing on standard output. */
export async function runToken(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
  io: CommandIo = processIo,
): Promise<number> {
  const [what = '--help', ...rest] = argv
  try {
    if (what === '--help' || what === '-h') {
      io.stdout.write(usage)
      return exitCodes.done
    }
    const command = Object.hasOwn(commands, what) ? commands[what] : undefined
    if (!command) throw new UsageError(`there is no token command ${JSON.stringify(what)}`)
    const perform = command(rest)
    const config = readConfig(env)
    const connection = await resolveConnection(config)
    const client = createClient({ ...connection, surface: 'cli' })
    await perform({ client, config, token: connection.token, io })
    return exitCodes.done
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr.write(`Error: ${error.message}.\nSee: longshore token --help\n`)
      return exitCodes.usage
    }
    io.stderr.write(`${errorText(error)}\n`)
    return exitCodes.failed
  }
}

type Perform = (run: Run) => Promise<void>

/** Each reads its arguments first, so that a mistyped `--read-only` makes no token. */
const commands: Record<string, (argv: string[]) => Perform> = {
  create(argv) {
    const { values } = parsed(argv, { name: { type: 'string' }, 'read-only': { type: 'boolean' } })
    const { name } = values
    if (typeof name !== 'string') throw new UsageError('--name says what the token is for')
    const readOnly = values['read-only'] === true
    return async ({ client, io }) => {
      const { tokenId, token } = await client.call(createUserToken, { name, readOnly })
      io.stderr.write(`Made the ${readOnly ? 'read-only ' : ''}token ${tokenId}. It is shown once:\n`)
      io.stdout.write(`${token}\n`)
    }
  },
  list(argv) {
    parsed(argv, {})
    return async ({ client, io }) => {
      const { tokens } = await client.call(listUserTokens, {})
      for (const { tokenId, name, readOnly, current, createdAt } of tokens) {
        const marks = [readOnly ? 'read-only' : '', current ? 'this one' : ''].filter((mark) => mark !== '')
        io.stdout.write(`${[tokenId, createdAt, name || '(no name)', ...marks].join('  ')}\n`)
      }
    }
  },
  revoke(argv) {
    const { positionals } = parsed(argv, {}, true)
    const [tokenId, ...more] = positionals
    if (tokenId === undefined || more.length > 0)
      throw new UsageError('name one tokenId; token list shows them')
    return async ({ client, io }) => {
      await client.call(revokeUserToken, { tokenId })
      io.stderr.write(`Revoked ${tokenId}.\n`)
    }
  },
  rotate(argv) {
    parsed(argv, {})
    return rotate
  },
}

/** The new one is made and written down before the old one dies, so that a crash leaves one that works. */
async function rotate({ client, config, token: old, io }: Run): Promise<void> {
  const { tokens } = await client.call(listUserTokens, {})
  const current = tokens.find((token) => token.current)
  if (!current) {
    throw new AppError('not-found', 'The token of this command is not listed', {
      details:
        'It was revoked meanwhile, or replaced by another rotation. Use that token, or another one of yours.',
    })
  }
  const { token } = await client.call(createUserToken, {
    name: current.name || 'rotated',
    readOnly: current.readOnly,
  })
  if ((await readAdminToken(config.home)) === old) {
    const file = path.join(config.home, 'admin-token')
    writeFileSync(`${file}.new`, `${token}\n`, { mode: 0o600, flush: true })
    renameSync(`${file}.new`, file)
    io.stderr.write(`Wrote the new token to ${file}.\n`)
  }
  await client.call(revokeUserToken, { tokenId: current.tokenId })
  io.stderr.write('The old token is dead. The new one is shown once:\n')
  io.stdout.write(`${token}\n`)
}

function parsed(
  argv: string[],
  options: NonNullable<Parameters<typeof parseArgs>[0]>['options'],
  allowPositionals = false,
) {
  try {
    return parseArgs({ args: argv, options: options ?? {}, allowPositionals })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
