import { Option } from 'commander'
import { type CliCommand, given, type Options, repeated, wholeNumber } from '../command.ts'
import { UsageError } from '../command-io.ts'

/** Options of `jobs run` that override the settings for one run. */
export function addRunOptions(command: CliCommand): CliCommand {
  command
    .option('--command <text>', 'command to run instead of the configured one')
    .addOption(repeated('--arg <text>', 'an argument; repeatable; replaces the configured ones'))
    .option('--shell', 'run the command with /bin/sh -lc')
    .addOption(new Option('--no-shell', 'run the command directly, without a shell').default(undefined))
    .option('--workdir <path>', 'folder in the container')
    .addOption(wholeNumber('--timeout <seconds>', 'deadline of the run'))
    .addOption(wholeNumber('--retries <n>', 'how often a failed attempt is retried'))
    .option('--detach', 'only start the run and print its id')
  return command
}

/** The overrides from options and the program after `--`. */
export function overridesOf(
  { command, arg, shell, workdir, timeout, retries }: Options,
  program: readonly string[],
  words: readonly string[],
): Record<string, unknown> {
  const [first, ...args] = program
  const isProgram = first !== undefined
  if (isProgram && (command !== undefined || arg !== undefined || shell === true)) {
    throw new UsageError('give the program after --, or --command with --arg and --shell, not both')
  }
  if (words.includes('--shell') && words.includes('--no-shell')) {
    throw new UsageError('use either --shell or --no-shell, not both')
  }
  return given({
    command: first ?? command,
    args: isProgram ? args : arg,
    shell: isProgram ? false : shell,
    workingDir: workdir,
    timeoutSeconds: timeout,
    backoffLimit: retries,
  })
}
