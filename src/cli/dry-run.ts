import type { Client } from '../client/client.ts'
import type { Operation } from '../contract/operation.ts'
import { type Cli, type CliCommand, print } from './command.ts'
import { exitCodes } from './command-io.ts'
import { printable } from './progress.ts'
import { cell } from './render.ts'
import { inShellWords } from './rows/words.ts'

export interface DryRunAnswer {
  effects?: string[]
  changes?: Change[]
}

interface Change {
  path: string
  before: unknown
  after: unknown
}

/** The answer of a dry run: sentences first, then each change. */
export function dryRunLines(answer: unknown): string[] {
  const { effects = [], changes = [] } = answer as DryRunAnswer
  return [
    ...effects.map((effect) => inShellWords(printable(effect))),
    ...changes
      .flatMap(fieldChanges)
      .map(({ path, before, after }) => `  ${printable(path)}: ${shown(before)} -> ${shown(after)}`),
    'Nothing was changed.',
  ]
}

/** A created object is shown as its fields; for a deleted one, the effects list everything that goes with it. */
function fieldChanges(change: Change): Change[] {
  const { path, before, after } = change
  if (path !== '') return [change]
  if (typeof after !== 'object' || after === null) return []
  return Object.entries(after)
    .filter(([, value]) => shown(value) !== '-')
    .map(([field, value]) => ({ path: field, before, after: value }))
}

function shown(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  return typeof value === 'object' ? cell(value) : printable(String(value))
}

export function addDryRun<C extends CliCommand>(command: C): C {
  return command.option('--dry-run', 'check the call and show what would change') as C
}

/** Does a dry run of a call, and prints the changes. */
export async function printDryRun(
  cli: Cli,
  client: Client,
  row: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<number> {
  const answer = await client.call(row, input, { dryRun: true })
  print(cli, answer, dryRunLines(answer))
  return exitCodes.done
}
