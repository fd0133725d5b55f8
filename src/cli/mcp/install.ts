import { spawn } from 'node:child_process'
import { constants, copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { applyEdits, modify, type ParseError, parse, printParseErrorCode } from 'jsonc-parser'
import { type Connection, mcpHosts } from '../../client/mcp-hosts.ts'
import { readConfig } from '../../config/config.ts'
import { AppError } from '../../errors.ts'
import { readToolPolicy, splitFlags } from '../../mcp/policy/options.ts'
import { type Cli, type CliCommand, choice, type Done } from '../command.ts'
import { type CommandIo, exitCodes } from '../command-io.ts'
import { loadPrebuilt } from '../load-prebuilt.ts'
import { userFolders } from '../user-folders.ts'
import { addToolPolicyFlags } from './tool-policy-flags.ts'

/** `longshore mcp install`: enters this server in the configuration of an MCP host. */
export function addMcpInstallCommand(mcp: CliCommand, cli: Cli, done: Done): void {
  addToolPolicyFlags(
    mcp
      .command('install')
      .withoutJson()
      .summary('enter this server in the configuration of an MCP host')
      .description(
        'Enters this server, over stdio, in the configuration of an MCP host. A file is copied to <file>.before-longshore before its first change; an entry that exists is replaced. With LONGSHORE_URL and LONGSHORE_TOKEN set, the agent works on that platform, else on the one in LONGSHORE_HOME; then the other LONGSHORE_* settings of this shell are entered too, except secrets. The other options narrow the agent.',
      )
      .needs(choice('--host <host>', 'the MCP host', Object.keys(mcpHosts)))
      .option('--print', 'print what would be entered, and change nothing'),
    '',
  ).runs(cli, done, async (_args, { host, print }) => {
    const connection = await connectionOf(cli)
    for (const line of secretNotes(cli.env)) cli.io.stderr.write(`${line}\n`)
    if (print === true) {
      const { place, stdio } = mcpHosts[String(host)]!
      cli.io.stderr.write(`${place}:\n`)
      cli.io.stdout.write(`${stdio(connection)}\n`)
    } else await install(String(host), connection, cli)
    return exitCodes.done
  })
}

/** The program as a host starts it. Throws `invalid` for an option that is not understood. */
async function connectionOf({ env, words }: Cli): Promise<Connection> {
  const { given } = splitFlags(words)
  const { tools } = await loadPrebuilt()
  readToolPolicy(
    given,
    tools.map(({ listed }) => listed.name),
  )
  const config = readConfig(env)
  const url = config.url === undefined ? '' : new URL(config.url).origin
  return {
    url,
    token: config.token?.reveal() ?? '',
    folder: installedFolder(),
    ...(url === '' ? { env: { ...settingsOf(env), LONGSHORE_HOME: config.home } } : {}),
    flags: given.map(([name, value]) => (value === '' ? `--${name}` : `--${name}=${value}`)),
  }
}

/** The folder of this program; null in the cache of npx, which npm may empty at any time. */
function installedFolder(): string | null {
  const folder = path.resolve(import.meta.dirname, '..')
  return folder.split(path.sep).includes('_npx') ? null : folder
}

/** Settings that may start a platform but are secrets: never copied into the file of another program. */
const secretSettings = [
  'LONGSHORE_BOOTSTRAP_TOKEN',
  'LONGSHORE_MASTER_KEY',
  'LONGSHORE_DATABASE_URL',
  'LONGSHORE_SMTP_URL',
]

/** The settings of this shell with which the server starts the platform. `readConfig` has checked their names. */
function settingsOf(env: NodeJS.ProcessEnv): Record<string, string> {
  const names = Object.keys(env).filter(
    (name) => (name.startsWith('LONGSHORE_') || name === 'DOCKER_HOST') && env[name] !== '',
  )
  const kept = names.filter((name) => !secretSettings.includes(name))
  return Object.fromEntries(kept.sort().map((name) => [name, env[name]!]))
}

/** Explains how the secrets of this shell are handled; never shows their values. */
function secretNotes(env: NodeJS.ProcessEnv): string[] {
  const left = env.LONGSHORE_URL ? [] : secretSettings.filter((name) => env[name])
  return [
    // Without it the agent would act with the admin token.
    ...(env.LONGSHORE_TOKEN
      ? [
          'LONGSHORE_TOKEN is entered as plain text, because the agent acts with it and hosts keep no secrets.',
        ]
      : []),
    ...(left.length > 0
      ? [
          `Not entered, because they are secrets: ${left.join(', ')}. Start the platform yourself with them, before the host starts the server.`,
        ]
      : []),
  ]
}

async function install(hostId: string, connection: Connection, { env, io }: Cli): Promise<void> {
  const { name, place, file, command, stdio } = mcpHosts[hostId]!
  if (file) {
    const target = file.path(userFolders(env))
    const before = await readFile(target, 'utf8').catch(absent)
    const after = withEntry(
      before?.trim() ? before : '{}\n',
      [file.key, 'longshore'],
      file.entry(connection),
      target,
    )
    if (after === before) return say(io, `${name} has this entry already: ${target}`)
    await replaceFile(target, before, after)
    return say(io, `Entered in ${target}. Restart ${name} to load it.`)
  }
  if (command && (await addByCommand(command(connection), env))) {
    return say(io, `Entered by the command of ${name}. Restart ${name} to load it.`)
  }
  io.stderr.write(`The command of ${name} is not installed here, or refused the entry. ${place}:\n`)
  io.stdout.write(`${stdio(connection)}\n`)
}

/**
 * `text` with `entry` at `at`; comments and layout stay. Throws `invalid` for text that is not JSON, so that a file
 * that a person is editing is not made worse.
 */
function withEntry(text: string, at: string[], entry: object, file: string): string {
  const errors: ParseError[] = []
  const root: unknown = parse(text, errors, { allowTrailingComma: true })
  const problem = errors[0]
  if (problem || typeof root !== 'object' || root === null || Array.isArray(root)) {
    const line = problem ? text.slice(0, problem.offset).split('\n').length : 1
    throw new AppError('invalid', 'The configuration of the host is not a JSON object', {
      details: `${file} line ${line}: ${problem ? printParseErrorCode(problem.error) : 'not an object'}. Repair it, or use --print and enter the text yourself.`,
    })
  }
  const edits = modify(text, at, entry, { formattingOptions: { insertSpaces: true, tabSize: 2 } })
  return applyEdits(text, edits)
}

/** Whole or not at all; the file may hold a token, so only its owner reads it. */
async function replaceFile(target: string, before: string | null, after: string): Promise<void> {
  await mkdir(path.dirname(target), { recursive: true })
  if (before !== null) {
    // The first copy is the person's own file; later ones would hold our entry.
    await copyFile(target, `${target}.before-longshore`, constants.COPYFILE_EXCL).catch(present)
  }
  const next = `${target}.${process.pid}`
  await writeFile(next, after, { mode: 0o600 })
  await rename(next, target)
}

/** Adds the entry with the host's own command; replaces an entry that the command refuses to overwrite. */
async function addByCommand(add: string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  if (await succeeds(add, env)) return true
  return (await succeeds([add[0]!, 'mcp', 'remove', 'longshore'], env)) && succeeds(add, env)
}

/** Whether a command exists and succeeds. Its output is not shown: it may repeat the token. */
function succeeds([command = '', ...args]: string[], env: NodeJS.ProcessEnv): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: 'ignore', env })
    child.once('error', () => resolve(false))
    child.once('exit', (code) => resolve(code === 0))
  })
}

function say(io: CommandIo, text: string): void {
  io.stderr.write(`${text}\n`)
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

function present(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}
