import { Option } from 'commander'
import type { Client } from '../client/client.ts'
import { listAccounts } from '../contract/accounts.ts'
import { getAppEnv } from '../contract/app-envs.ts'
import { isRead, type Operation } from '../contract/operation.ts'
import {
  type Cli,
  type CliCommand,
  connected,
  type Done,
  environmentRef,
  type Options,
  print,
} from './cli-command.ts'
import { exitCodes, UsageError } from './command-io.ts'
import { healthReport } from './health-report.ts'
import { printable } from './progress.ts'
import { presetLines, renderResult } from './render.ts'
import { fieldsOf, type RowFields } from './row-fields.ts'
import { inShellWords } from './row-names.ts'

/** Extensions of a command beyond its row. */
interface RowExtras {
  /** Options of the command that are not fields of the input. */
  options?: readonly Option[]
  /** Checks the input before the first request; throws `UsageError`. */
  check?(input: Options, options: Options): void
  /** The answer in lines, where the general rendering says too little. */
  render?(answer: never): string[]
}

const extrasOf: Readonly<Record<string, RowExtras>> = {
  'list-database-presets': { render: presetLines },
  'get-account-health': { render: healthReport },
  'update-member-env-access': {
    options: [new Option('--full-access', 'let the member access every environment')],
    check({ allowedAppEnvIds }, { fullAccess }) {
      const names = Array.isArray(allowedAppEnvIds) && allowedAppEnvIds.length > 0
      if (names === (fullAccess === true)) {
        throw new UsageError('give --allowed-app-env-ids, or --full-access to remove all restrictions')
      }
    },
  },
}

/** Adds the positionals and options of an operation to a command, and its action. */
export function rowCommand(command: CliCommand, row: Operation, cli: Cli, done: Done): CliCommand {
  const fields = fieldsOf(row)
  const extras = extrasOf[row.id] ?? {}
  const render = extras.render ?? renderResult
  addFields(command.description(inShellWords(row.summary)), fields)
  for (const option of extras.options ?? []) command.addOption(option)
  if (!isRead(row)) command.option('--dry-run', 'check the call and show what would change')
  if (destroys(row)) command.option('--yes', 'do not ask for confirmation')
  return command.runs(cli, done, async (args, options) => {
    const input = inputOf(fields, args, options)
    extras.check?.(input, options)
    const { client } = await connected(cli)
    if (fields.account === 'needed' || (fields.account === 'optional' && needsAccount(row, input))) {
      input.accountId = await accountOf(client, options.account)
    } else if (options.account !== undefined) input.accountId = await accountOf(client, options.account)
    const dryRun = options.dryRun === true
    if (destroys(row) && !dryRun && options.yes !== true) await confirm(cli, client, row, input)
    const answer = await client.call(row, input, { dryRun })
    print(cli, answer, dryRun ? dryRunLines(answer) : render(answer as never))
    return exitCodes.done
  })
}

export function addFields(command: CliCommand, { positionals, account, options }: RowFields): void {
  for (const name of positionals) {
    command.argument(`<${name}>`, name === 'environment' ? 'its id or cliEnvName' : '')
  }
  if (account !== null) command.option('--account <account>', 'its id or name; not needed with one account')
  for (const { flags, required } of options) {
    for (const option of flags) {
      if (required && !option.negate) command.needs(option)
      else command.addOption(option)
    }
  }
}

/** The input from words and options; the platform fills in defaults of other fields. */
export function inputOf(
  fields: RowFields,
  args: readonly string[],
  options: Options,
): Record<string, unknown> {
  const input: Record<string, unknown> = {}
  for (const [index, name] of fields.positionals.entries()) {
    const word = args[index] ?? ''
    if (name === 'environment') Object.assign(input, environmentRef(word))
    else input[name] = word
  }
  for (const { field } of fields.options) {
    if (options[field] !== undefined) input[field] = options[field]
  }
  return input
}

/** The account named by id, name or slug; without a name, the only one. */
export async function accountOf(client: Client, named: unknown): Promise<string> {
  if (typeof named === 'string' && named.startsWith('acc_')) return named
  const { accounts } = await client.call(listAccounts, {})
  const fitting =
    typeof named === 'string' ? accounts.filter(({ name, slug }) => [name, slug].includes(named)) : accounts
  const [account, ...more] = fitting
  if (account && more.length === 0) return account.accountId
  const ids = accounts.map(({ accountId, name }) => `${accountId} (${printable(name)})`)
  throw new UsageError(`choose one with --account: ${ids.join(', ')}`)
}

/** For an operation on an account or an app: whether no app is named, so that it needs the account. */
function needsAccount(row: Operation, input: Options): boolean {
  return row.policy.on === 'account-or-app' && input.appId === undefined
}

/** Revoking a leaked token must be fast, so it needs no confirmation. */
function destroys(row: Operation): boolean {
  return row.method === 'DELETE' && row.id !== 'revoke-user-token'
}

/** Shows the effects, and lets the person type the name of the object. */
async function confirm(
  { io }: Cli,
  client: Client,
  row: Operation,
  input: Record<string, unknown>,
): Promise<void> {
  const wanted = io.ask && (await nameOf(client, input))
  if (wanted && io.ask) {
    const preview = await client.call(row, input, { dryRun: true })
    io.stderr.write(`${dryRunLines(preview).slice(0, -1).join('\n')}\n`)
    const typed = await io.ask(`Type ${wanted} to continue: `)
    if (typed?.trim() === wanted) return
    if (typed !== null) throw new UsageError('the name does not match, so nothing was changed')
  }
  throw new UsageError('this cannot be undone: add --yes to confirm, or --dry-run to see what it would do')
}

async function nameOf(client: Client, input: Options): Promise<string> {
  const { appEnvId, envName } = input
  if (appEnvId !== undefined) return (await client.call(getAppEnv, { appEnvId })).cliEnvName
  const id = Object.entries(input).find(([field]) => /Id$/.test(field) && field !== 'accountId')?.[1]
  return String(envName ?? id)
}

interface Change {
  path: string
  before: unknown
  after: unknown
}

/** What a dry run answers: sentences first, then each change. */
export function dryRunLines(answer: unknown): string[] {
  const { effects = [], changes = [] } = answer as { effects?: string[]; changes?: Change[] }
  return [
    ...effects.map((effect) => inShellWords(printable(effect))),
    ...changes
      .flatMap(fieldChanges)
      .map(({ path, before, after }) => `  ${printable(path)}: ${shown(before)} -> ${shown(after)}`),
    'Nothing was changed.',
  ]
}

/** A whole object that is made becomes its fields; the effects say what goes with one that is deleted. */
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
  return printable(typeof value === 'string' ? value : JSON.stringify(value))
}
