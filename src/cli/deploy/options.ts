import { image } from '../../contract/fields.ts'
import { type FunctionConfigInput, functionConfig } from '../../contract/function-config.ts'
import { type CliCommand, environmentRef, given, type Options, wholeNumber } from '../command.ts'
import { UsageError } from '../command-io.ts'

export interface DeployOptions {
  userToken: string | undefined
  /** The environment, by id if the text looks like one, else by `cliEnvName`. */
  environment: { appEnvId: string } | { envName: string }
  source: { dir: string } | { image: string } | { git: true }
  /** The given function settings; null if there are none. */
  functionConfig: FunctionConfigInput | null
  dryRun: boolean
  /** For an environment that does not exist yet. */
  create: { yes: boolean; account?: string; region?: string; port?: number }
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

/** The options of `longshore deploy`. */
export function addDeployOptions(command: CliCommand): CliCommand {
  return command
    .argument('[environment]', 'environment to deploy to: its id, or its name in URLs')
    .option(
      '--user-token <token>',
      'token to act with (default: LONGSHORE_TOKEN, then the local admin token)',
    )
    .option('--dir <folder>', 'build from the source in this folder')
    .option('--image <reference>', 'deploy this prebuilt container image')
    .option('--git', 'build the head of the branch, for an app that uses a Git host')
    .option('--fn-container-concurrency <n>', 'function: max concurrent requests per container, 0 = no limit')
    .option('--fn-timeout <seconds>', 'function: max seconds a request may take')
    .option('--fn-idle-timeout <seconds>', 'function: idle seconds before scale to zero, at least 300')
    .option('--fn-min-scale <n>', 'function: min containers; 0 allows scale to zero')
    .option('--fn-max-scale <n>', 'function: max containers')
    .option('--yes', 'create the app and the environment without a question if they do not exist')
    .option('--account <account>', 'new app: account, by id or name')
    .option('--region <region>', 'new environment: longshore regions list shows them (default: the first)')
    .addOption(wholeNumber('--port <n>', 'new app: port the code listens on'))
    .option('--dry-run', 'check the call and the source, and show what would be deployed; uploads nothing')
    .note(
      'Exit code: 0 when the version serves, 1 when it failed, 2 for a wrong call.' +
        '\nThe upload never includes .git and .longshore. It excludes node_modules, unless an ignore file re-includes it, and' +
        ' the files listed in .longshoreignore (without one: in .gitignore).',
    )
}

/** The deployment that the options request; throws `UsageError` for a wrong call. */
export function deployOptionsOf(environment: string | undefined, flags: Options): DeployOptions {
  if (environment === undefined) throw new UsageError('--env <environment> is required')
  return {
    userToken: flags.userToken as string | undefined,
    environment: environmentRef(environment),
    source:
      flags.git === true
        ? gitSource(flags)
        : sourceOf(flags.dir as string | undefined, flags.image as string | undefined),
    functionConfig: functionConfigOf(flags),
    dryRun: flags.dryRun === true,
    create: {
      yes: flags.yes === true,
      ...(given({ account: flags.account, region: flags.region, port: flags.port }) as object),
    },
  }
}

function gitSource({ dir, image }: Options): DeployOptions['source'] {
  if (dir !== undefined || image !== undefined) throw new UsageError('use --git without --dir and --image')
  return { git: true }
}

function sourceOf(dir: string | undefined, reference: string | undefined): DeployOptions['source'] {
  if (dir !== undefined) {
    if (reference !== undefined) throw new UsageError('use either --dir or --image, not both')
    if (dir === '') throw new UsageError('--dir must name a folder')
    return { dir }
  }
  if (reference === undefined) {
    throw new UsageError(
      'give --dir (build from source), --image (prebuilt image) or --git (branch of an app that uses a Git host)',
    )
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
