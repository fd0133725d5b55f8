import { Command, Option } from 'commander'
import { type Client, createClient } from '../client/client.ts'
import { readConfig } from '../config/config.ts'
import { AppError } from '../errors.ts'
import { isReadOnlyShell } from '../mcp/policy/options.ts'
import { nearestName } from '../nearest.ts'
import { type CommandIo, UsageError } from './command-io.ts'
import { type Connection, resolveConnection } from './local/installation.ts'
import { suggestingNames } from './names/lookup.ts'
import { readingOnly } from './reading-only.ts'

/** The context of one call of the command line. */
export interface Cli {
  env: NodeJS.ProcessEnv
  io: CommandIo
  json: boolean
  /** The words before `--`. */
  words: readonly string[]
  /** The words after `--`: a program and its arguments, never options. Null without `--`. */
  program: readonly string[] | null
  /** Words of the command, such as `envs scale`; used to point to its help. */
  path: string
}

/** Receives the exit code. */
export type Done = (code: number) => void
export type Options = Readonly<Record<string, unknown>>
/** Resolves to the exit code. Throws `UsageError` before any request, `AppError` for an error of the platform. */
type Action = (args: readonly string[], options: Options, command: CliCommand) => Promise<number>

/** A mistyped word must not lead to these. */
const destructive = /^(?:stop|delete|remove|revoke|cancel|restore|rotate)\b/

const takesEnvironment = /^[<[]environment\b/

/** `--env shop-prod --follow` as `shop-prod --follow`. */
function environmentFirst(argv: readonly string[]): string[] {
  const at = argv.findIndex((word) => /^--env(?:=|$)/.test(word))
  const [, joined] = /^--env=(.*)$/s.exec(argv[at] ?? '') ?? []
  const value = joined ?? argv[at + 1]
  if (at < 0 || value === undefined) return [...argv]
  return [value, ...argv.slice(0, at), ...argv.slice(at + (joined === undefined ? 2 : 1))]
}

/** A command of the tree. Wrong calls become `UsageError`s that name the mistake and the probable correction. */
export class CliCommand extends Command {
  readonly #required = new Map<string, string>()
  #takesProgram = false
  hasJson = true

  constructor(name?: string) {
    super(name)
    this.helpCommand(false)
  }

  override createCommand(name: string): CliCommand {
    return new CliCommand(name)
  }

  /** An environment that a command takes as a word can also be given as `--env`. */
  override argument(name: string, description?: string, defaultValue?: unknown): this {
    super.argument(name, description, defaultValue)
    if (takesEnvironment.test(name))
      this.option('--env <environment>', 'the environment, in place of the word')
    return this
  }

  /** A text after the help, wrapped like the rest of it. */
  note(text: string): this {
    const wrapped = () => {
      const width = this.configureOutput().getOutHelpWidth?.() || 80
      const help = this.createHelp()
      return `\n${text}`
        .split('\n')
        .map((line) => help.boxWrap(line, width))
        .join('\n')
    }
    return this.addHelpText('after', wrapped)
  }

  /** For a command whose result is not printed as JSON. */
  withoutJson(): this {
    this.hasJson = false
    return this
  }

  /** An option that must be given. Checked after unknown ones, so that a mistyped `--env` is named. */
  needs(option: Option): this {
    this.#required.set(option.attributeName(), option.flags)
    option.description = `${option.description} (required)`.trim()
    return this.addOption(option)
  }

  /** Allows a program after `--`. */
  takesProgram(): this {
    this.#takesProgram = true
    return this
  }

  /** Sets the action of the command; `runCli` fills in `cli`, and `done` receives the exit code. */
  runs(cli: Cli, done: Done, act: Action): this {
    return this.action(async () => {
      cli.path = pathOf(this)
      if (cli.program !== null && !this.#takesProgram) throw new UsageError('only jobs run accepts --')
      const options = this.opts<Options>()
      for (const [name, flags] of this.#required) {
        if (options[name] === undefined) throw new UsageError(`${flags} is required`)
      }
      done(
        await act(this.args, options, this).catch((error) => {
          throw this.#namingFlags(error)
        }),
      )
    })
  }

  /** The error with the options that people type in place of the fields of the input: `--port` for `port`. */
  #namingFlags(error: unknown): unknown {
    if (!(error instanceof AppError) || error.message !== 'Invalid request') return error
    const flags = new Map(
      this.options.flatMap((option) =>
        option.long && !option.negate ? [[option.attributeName(), option.long]] : [],
      ),
    )
    const details = (error.details ?? '').replace(
      /(?<=^|; )(\w+)(:|\.| is required)/g,
      (all, field: string, after: string) =>
        flags.has(field) ? `${flags.get(field)}${after === '.' ? ' ' : after}` : all,
    )
    return new AppError(error.kind, error.message, { details, cause: error })
  }

  /** An option without its value must not consume the next option: `--name --read-only`. */
  override parseOptions(argv: string[]): ReturnType<Command['parseOptions']> {
    for (const [index, word] of argv.entries()) {
      const takesValue = this.options.some(
        (option) => option.required && (option.long === word || option.short === word),
      )
      const next = argv[index + 1]
      if (takesValue && next?.startsWith('--')) {
        this.error(`${word} needs a value; write ${word}=VALUE for a value that begins with --`)
      }
    }
    try {
      const hasWord = this.registeredArguments.some((one) => takesEnvironment.test(`<${one.name()}>`))
      return super.parseOptions(hasWord ? environmentFirst(argv) : argv)
    } catch (error) {
      if (error instanceof UsageError) throw new UsageError(error.message, error.path ?? pathOf(this))
      throw error
    }
  }

  override error(message: string): never {
    throw new UsageError(message.replace(/^error: /, ''), pathOf(this))
  }

  /** Called by commander for the first unknown option. */
  unknownOption(flag: string): never {
    const help = this.createHelp()
    const known = [...help.visibleOptions(this), ...help.visibleGlobalOptions(this)]
      .flatMap(({ long }) => long ?? [])
      .filter((long) => long !== '--yes')
    const name = flag.split('=')[0]!
    const meant = known.includes('--unset') && /^--(remove|delete)$/.test(name) ? '--unset' : name
    return this.error(`Unknown option '${name}'${suggestion(meant, known)}`)
  }

  /** Called by commander before it looks at the words: the help of a command that does not exist is an error. */
  _outputHelpIfRequested(args: readonly string[]): void {
    const asks = args.some((word) => word === '--help' || word === '-h')
    if (!asks) return
    if (this.commands.length > 0 && this.args[0] !== undefined && !this.args[0].startsWith('-'))
      this.unknownCommand()
    this.help()
  }

  /** Called by commander for a word that is no subcommand. */
  unknownCommand(): never {
    const word = this.args[0] ?? ''
    const known = this.createHelp()
      .visibleCommands(this)
      .map((command) => command.name())
      .filter((name) => !destructive.test(name))
    const what = pathOf(this) === '' ? 'command' : `${pathOf(this)} command`
    return this.error(`there is no ${what} ${JSON.stringify(word)}${suggestion(word, known)}`)
  }
}

/** An option that takes one of these values. */
export function choice(flags: string, description: string, values: readonly string[]): Option {
  return new Option(flags, `${description}: ${values.join(', ')}`).argParser((text: string) => {
    if (values.includes(text)) return text
    throw new UsageError(`${flags.split(' ')[0]} must be one of ${values.join(', ')}`)
  })
}

/** An option that takes a whole number. */
export function wholeNumber(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string) => {
    if (/^\d{1,9}$/.test(text)) return Number(text)
    throw new UsageError(`${flags.split(' ')[0]} must be a whole number, not ${JSON.stringify(text)}`)
  })
}

/** An option that may be given several times. */
export function repeated(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text: string, before: string[] | undefined) => [
    ...(before ?? []),
    text,
  ])
}

export async function connected(cli: Cli, token?: string): Promise<Connection & { client: Client }> {
  const connection = await resolveConnection(readConfig(cli.env), token)
  const client = suggestingNames(createClient({ ...connection, surface: 'cli' }))
  return { ...connection, client: isReadOnlyShell(cli.env) ? readingOnly(client) : client }
}

/** Prints a response: as JSON, or as the lines. */
export function print({ io, json }: Cli, answer: unknown, lines: readonly string[]): void {
  io.stdout.write(json ? `${JSON.stringify(answer)}\n` : `${lines.join('\n')}\n`)
}

/** Names an environment by id if the text looks like one, else by `cliEnvName`. */
export function environmentRef(text: string): { appEnvId: string } | { envName: string } {
  const name = text.trim()
  if (name === '') throw new UsageError('the name of the environment is empty')
  return name.startsWith('env_') ? { appEnvId: name } : { envName: name }
}

/** Removes undefined fields: the platform fills in defaults. */
export function given<T extends Record<string, unknown>>(fields: T): { [K in keyof T]?: NonNullable<T[K]> } {
  const there = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(there) as { [K in keyof T]?: NonNullable<T[K]> }
}

function suggestion(word: string, known: readonly string[]): string {
  const near = nearestName(word, known)
  return near === null ? '' : `; did you mean ${near}?`
}

/** Words of the command after `longshore`. */
function pathOf(command: Command): string {
  const above = command.parent
  return above === null ? '' : `${pathOf(above)} ${command.name()}`.trim()
}
