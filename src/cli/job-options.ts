import type { listJobRuns, startJobRun } from '../contract/jobs.ts'
import type { RawInputOf } from '../contract/operation.ts'
import { parsedOptions } from './alert-options.ts'
import { type CommandIo, UsageError } from './command-io.ts'

const usage = `longshore jobs <what>

  run <environment> [options] [-- program argument...]
                             starts a run, shows its output and ends as it ends
    --command <text>         what to run instead of what the settings say
    --arg <text>             an argument, again for each; replaces those of the settings
    --no-shell               the command is one program; else /bin/sh -lc runs it (--shell)
    --workdir <path>         folder in the container
    --timeout <seconds>      deadline of the run
    --retries <n>            how often a failed attempt is tried again
    --detach                 only start it, and print its id
  list <environment> [--limit n] [--offset n]
                             runs, newest first
  get <jobRunId>             one run: how it went, what it was started with, and where that came from
  logs <jobRunId> [--follow] its output, of all attempts
  cancel <jobRunId>          its container is stopped, nothing is tried again
  settings <environment>     each setting, where it comes from, and what is pending

What follows -- is run as it is, without a shell; with no arguments, those of the settings hold. <environment> is its id or its name in URLs.
Output of the run goes to standard output and standard error, progress to standard error; --json prints one answer.
Exit code 0: done, the run succeeded; 1: refused, or it did not succeed; 130: Ctrl-C, the run goes on.
`

type EnvironmentInput = { appEnvId: string } | { envName: string }

export type JobsCommand =
  | { what: 'run'; input: RawInputOf<typeof startJobRun>; detach: boolean }
  | { what: 'list'; input: RawInputOf<typeof listJobRuns> }
  | { what: 'get' | 'cancel'; jobRunId: string }
  | { what: 'logs'; jobRunId: string; follow: boolean }
  | { what: 'settings'; input: EnvironmentInput }

const flag = { type: 'boolean' } as const
const text = { type: 'string' } as const

/** `--json` of the command itself, not of the program that it runs. */
export function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return (end < 0 ? argv : argv.slice(0, end)).includes('--json')
}

/** Reads the whole call before anything is asked; null when help was asked for. Throws `UsageError`. */
export function parseJobsCommand(argv: readonly string[], io: CommandIo): JobsCommand | null {
  const end = argv.indexOf('--')
  const own = (end < 0 ? argv : argv.slice(0, end)).filter((word) => word !== '--json')
  const program = end < 0 ? [] : argv.slice(end + 1)
  const [what = '--help', ...rest] = own
  if (what === '--help' || what === '-h' || rest.includes('--help') || rest.includes('-h')) {
    io.stdout.write(usage)
    return null
  }
  if (end >= 0 && what !== 'run') throw new UsageError('-- is for run only')
  switch (what) {
    case 'run':
      return parseRun(rest, program)
    case 'list': {
      const { values, positionals } = parsedOptions(rest, { limit: text, offset: text })
      const page = withoutAbsent({
        limit: numberOf('--limit', values.limit),
        offset: numberOf('--offset', values.offset),
      })
      return { what, input: { ...environmentOf(positionals), ...page } }
    }
    case 'logs': {
      const { values, positionals } = parsedOptions(rest, { follow: { ...flag, short: 'f' } })
      return { what, jobRunId: runOf(positionals), follow: values.follow === true }
    }
    case 'get':
    case 'cancel':
      return { what, jobRunId: runOf(parsedOptions(rest, {}).positionals) }
    case 'settings':
      return { what, input: environmentOf(parsedOptions(rest, {}).positionals) }
    default:
      throw new UsageError(`there is no jobs command ${JSON.stringify(what)}`)
  }
}

function parseRun(argv: readonly string[], program: readonly string[]): JobsCommand {
  const { values, positionals } = parsedOptions(argv, {
    command: text,
    arg: { type: 'string', multiple: true },
    shell: flag,
    'no-shell': flag,
    workdir: text,
    timeout: text,
    retries: text,
    detach: flag,
  })
  const [first, ...args] = program
  const isProgram = first !== undefined
  if (isProgram && (values.command !== undefined || values.arg || values.shell)) {
    throw new UsageError('give the program after --, or --command with --arg and --shell, not both')
  }
  if (values.shell && values['no-shell']) throw new UsageError('--shell and --no-shell exclude each other')
  const shell = values.shell ? true : values['no-shell'] || isProgram ? false : undefined
  const overrides = withoutAbsent({
    command: first ?? values.command,
    args: isProgram ? args : values.arg,
    shell,
    workingDir: values.workdir,
    timeoutSeconds: numberOf('--timeout', values.timeout),
    backoffLimit: numberOf('--retries', values.retries),
  })
  return {
    what: 'run',
    input: { ...environmentOf(positionals), ...overrides },
    detach: values.detach === true,
  }
}

function environmentOf(positionals: readonly string[]): EnvironmentInput {
  const [name, ...more] = positionals
  if (name === undefined || more.length > 0) throw new UsageError('name one environment')
  return name.startsWith('env_') ? { appEnvId: name } : { envName: name }
}

function runOf(positionals: readonly string[]): string {
  const [jobRunId, ...more] = positionals
  if (jobRunId === undefined || more.length > 0) {
    throw new UsageError('name one jobRunId; jobs list <environment> shows them')
  }
  return jobRunId
}

function numberOf(option: string, value: string | undefined): number | undefined {
  if (value === undefined) return undefined
  if (!/^\d{1,9}$/.test(value))
    throw new UsageError(`${option} takes a whole number, not ${JSON.stringify(value)}`)
  return Number(value)
}

/** A field that is not there is left to the settings; the platform refuses one that is undefined. */
function withoutAbsent<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const there = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as { [K in keyof T]?: NonNullable<T[K]> }
}
