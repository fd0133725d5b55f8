import { Command, CommanderError, Option } from 'commander'
import { image } from '../contract/fields.ts'
import { type FunctionConfigInput, functionConfig } from '../contract/function-config.ts'
import { type CommandIo, UsageError } from './command-io.ts'

export interface DeployOptions {
  userToken: string | undefined
  /** How calls name the environment: by id when it looks like one, else by its `cliEnvName`. */
  environment: { appEnvId: string } | { envName: string }
  source: { dir: string } | { image: string }
  /** The function settings that were given; null when none was. */
  functionConfig: FunctionConfigInput | null
  json: boolean
}

/** Flag (as commander names it) → field of the function settings. */
const functionFlags = {
  fnContainerConcurrency: 'containerConcurrency',
  fnTimeout: 'timeoutSeconds',
  fnIdleTimeout: 'idleTimeoutSeconds',
  fnMinScale: 'minScale',
  fnMaxScale: 'maxScale',
} as const

const flagName = {
  containerConcurrency: '--fn-container-concurrency',
  timeoutSeconds: '--fn-timeout',
  idleTimeoutSeconds: '--fn-idle-timeout',
  minScale: '--fn-min-scale',
  maxScale: '--fn-max-scale',
} as const

/** Reads the flags of interface.md 4.1. Null when help was asked for and shown; `UsageError` for a wrong call. */
export function parseDeployOptions(argv: readonly string[], io: CommandIo): DeployOptions | null {
  const command = deployCommand(io)
  try {
    command.parse([...argv], { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return null
    throw new UsageError(error.message.replace(/^error: /, ''))
  }
  const flags = command.opts<Record<string, string | undefined> & { json?: boolean }>()
  return {
    userToken: flags.userToken,
    environment: environmentOf(flags.env ?? ''),
    source: sourceOf(flags.dir, flags.image),
    functionConfig: functionConfigOf(flags),
    json: flags.json === true,
  }
}

function deployCommand(io: CommandIo): Command {
  return new Command('longshore deploy')
    .description(
      'Deploys source with a Dockerfile, or a prebuilt image, and waits until it serves or has failed.',
    )
    .option(
      '--user-token <token>',
      'token to act with (default: LONGSHORE_TOKEN, then the local admin token)',
    )
    .requiredOption('--env <environment>', 'environment to deploy to: its name or its id')
    .addOption(new Option('--dir <folder>', 'build from the source in this folder').conflicts('image'))
    .addOption(new Option('--image <reference>', 'deploy this prebuilt container image'))
    .option(
      '--fn-container-concurrency <n>',
      'function: most concurrent requests in one container, 0 = no limit',
    )
    .option('--fn-timeout <seconds>', 'function: most seconds a request may take')
    .option('--fn-idle-timeout <seconds>', 'function: quiet seconds before it scales to zero, at least 300')
    .option('--fn-min-scale <n>', 'function: least containers; 0 allows scale to zero')
    .option('--fn-max-scale <n>', 'function: most containers')
    .option('--json', 'print the result as one JSON object on standard output')
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeOut: (text) => io.stdout.write(text), writeErr: () => {} })
    .addHelpText(
      'after',
      '\nExit code: 0 when the version serves, 1 when it failed, 2 for a wrong call.' +
        '\nLeft out of the upload: .git and .longshore always, node_modules unless .longshoreignore or .gitignore' +
        '\nbrings it back, and what .longshoreignore (without one: .gitignore) lists.',
    )
}

function environmentOf(value: string): DeployOptions['environment'] {
  const name = value.trim()
  if (name === '') throw new UsageError('--env must name an environment')
  return name.startsWith('env_') ? { appEnvId: name } : { envName: name }
}

function sourceOf(dir: string | undefined, reference: string | undefined): DeployOptions['source'] {
  if (dir !== undefined) {
    if (dir === '') throw new UsageError('--dir must name a folder')
    return { dir }
  }
  if (reference === undefined) {
    throw new UsageError('one of --dir (build from source) and --image (prebuilt image) is needed')
  }
  const checked = image.safeParse(reference)
  if (!checked.success) throw new UsageError(`--image: ${checked.error.issues[0]?.message}`)
  return { image: reference }
}

function functionConfigOf(flags: Record<string, unknown>): FunctionConfigInput | null {
  const given: Record<string, number> = {}
  for (const [flag, field] of Object.entries(functionFlags)) {
    const text = flags[flag]
    if (typeof text !== 'string') continue
    if (!/^\d{1,9}$/.test(text))
      throw new UsageError(`${flagName[field]} must be a whole number, not "${text}"`)
    given[field] = Number(text)
  }
  if (Object.keys(given).length === 0) return null
  const checked = functionConfig.safeParse(given)
  if (!checked.success) {
    const issue = checked.error.issues[0]!
    throw new UsageError(`${flagName[issue.path[0] as keyof typeof flagName]}: ${issue.message}`)
  }
  const { minScale, maxScale } = checked.data
  if (minScale !== undefined && maxScale !== undefined && minScale > maxScale) {
    throw new UsageError(`--fn-min-scale ${minScale} is above --fn-max-scale ${maxScale}`)
  }
  return checked.data
}
