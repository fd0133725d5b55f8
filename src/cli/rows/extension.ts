import type { Option } from 'commander'
import type { Client } from '../../client/client.ts'
import type { Cli, Options } from '../command.ts'

export type Input = Record<string, unknown>

/** A call of a command with its complete input. */
export interface RowCall {
  cli: Cli
  client: Client
  args: readonly string[]
  input: Readonly<Input>
  options: Options
}

/** Extensions of a command beyond its row. */
export interface RowExtension {
  /** An optional word of the command that is no field of the input: its name and its help. */
  argument?: readonly [string, string]
  /** Options of the command that are not fields of the input. */
  options?: readonly Option[]
  /** Required fields that `prepare` fills in. */
  filled?: readonly string[]
  /** Without an account, an app or an environment, the lists of every account are read and joined. */
  everyAccount?: true
  /** Checks the input before the first request, and completes it from the options; throws `UsageError`. */
  prepare?(input: Input, options: Options): void
  /** Completes the input by reading; after `prepare`. */
  resolve?(client: Client, input: Input, options: Options): Promise<void>
  /** Waits for the action to end, or reads more: returns the answer to print in place of the first one. */
  complete?(call: RowCall, answer: never): Promise<unknown>
  /** The answer in lines, if the general rendering is not enough. */
  render?(answer: never, options: Options): string[]
  /** The answer of a dry run in lines. */
  renderDryRun?(answer: never, input: Readonly<Input>): string[]
  /** Lines for people that need another read, after the answer. */
  after?(client: Client, input: Options): Promise<string[]>
  /** Prints the answer itself, where it is not for standard output alone. */
  print?(call: RowCall, answer: never): void
  /** An exit code for scripts; without it, 0 for every answer. */
  exitCode?(answer: never, options: Options): number
}
