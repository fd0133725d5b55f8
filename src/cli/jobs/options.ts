import { Option } from 'commander'
import { startJobRun } from '../../contract/jobs.ts'
import { type CliCommand, given, type Options, repeated, wholeNumber } from '../command.ts'
import { UsageError } from '../command-io.ts'
import { addFields, inputOf } from '../rows/command.ts'
import type { Input } from '../rows/extension.ts'
import { fieldsOf } from '../rows/fields.ts'

/** Short forms that earlier versions had. */
const shortForms: readonly Option[] = [
  repeated('--arg <text>', ''),
  new Option('--workdir <path>'),
  wholeNumber('--timeout <seconds>', ''),
  wholeNumber('--retries <n>', ''),
].map((option) => option.hideHelp())

/** Adds the environment and the options of `jobs run`; the result makes the input from them. */
export function addRunFields(command: CliCommand): (args: readonly string[], options: Options) => Input {
  const fields = fieldsOf(startJobRun)
  addFields(command, fields)
  for (const option of shortForms) command.addOption(option)
  command.option('--detach', 'only start the run and print its id')
  return (args, options) => {
    const { arg, workdir, timeout, retries } = options
    const short = { args: arg, workingDir: workdir, timeoutSeconds: timeout, backoffLimit: retries }
    return { ...given(short), ...inputOf(fields, args, options) }
  }
}

/** The input with the program after `--`, which runs without a shell. */
export function withProgram(input: Input, program: readonly string[], words: readonly string[]): Input {
  const [command, ...args] = program
  if (words.includes('--shell') && words.includes('--no-shell')) {
    throw new UsageError('use either --shell or --no-shell, not both')
  }
  if (command === undefined) return input
  if (input.command !== undefined || input.args !== undefined || input.shell === true) {
    throw new UsageError('give the program after --, or --command with --args and --shell, not both')
  }
  return { ...input, command, args, shell: false }
}
