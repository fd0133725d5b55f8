import { operations } from '../../contract/index.ts'
import type { Operation } from '../../contract/operation.ts'
import type { Cli, CliCommand, Done } from '../command.ts'
import { rowCommand } from './command.ts'
import { wordsOf } from './words.ts'

const aliases: Readonly<Record<string, string>> = {
  backup: 'backups',
  token: 'tokens',
  regions: 'region',
}

/** The command of a noun such as `envs`; created on first use. */
export function nounOf(program: CliCommand, name: string, about = ''): CliCommand {
  const found = commandAt(program, [name])
  if (found) return found
  const noun = program.command(name)
  if (aliases[name]) noun.alias(aliases[name])
  return noun.description(about)
}

/** Adds a command for every operation without one. */
export function addRowCommands(program: CliCommand, cli: Cli, done: Done, rows = operations): void {
  for (const row of rows) {
    const words = wordsOf(row.id)
    if (commandAt(program, words)) continue
    const parent = words.length > 1 ? nounOf(program, words[0]!) : program
    rowCommand(parent.command(words.at(-1)!), row, cli, done)
  }
  for (const noun of program.commands) {
    if (noun.description() !== '') continue
    noun.description(noun.commands.map((command) => command.name()).join(', '))
  }
}

/** The command with these words; null if there is none. */
function commandAt(program: CliCommand, words: readonly string[]): CliCommand | null {
  let found: CliCommand | undefined = program
  for (const word of words) {
    found = found?.commands.find((command) => command.name() === word) as CliCommand | undefined
  }
  return found ?? null
}

/** The command of an operation. */
export function commandOf(program: CliCommand, row: Operation): CliCommand | null {
  return commandAt(program, wordsOf(row.id))
}
