import type { Client } from '../../client/client.ts'
import { listAccounts } from '../../contract/accounts.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import { isRead, type Operation } from '../../contract/operation.ts'
import {
  type Cli,
  type CliCommand,
  connected,
  type Done,
  environmentRef,
  type Options,
  print,
} from '../command.ts'
import { exitCodes, UsageError } from '../command-io.ts'
import { addDryRun, dryRunLines } from '../dry-run.ts'
import { withNames } from '../names/in-responses.ts'
import { withIds } from '../names/lookup.ts'
import { namedObject } from '../names/of-object.ts'
import { printable } from '../progress.ts'
import { aligned, renderResult } from '../render.ts'
import { emptyHint, extrasOf } from './extras.ts'
import { positionalHelp } from './field-help.ts'
import { fieldsOf, type RowFields } from './fields.ts'
import { inShellWords } from './words.ts'

/** Adds the positionals and options of an operation to a command, and its action. */
export function rowCommand(command: CliCommand, row: Operation, cli: Cli, done: Done): CliCommand {
  const fields = fieldsOf(row)
  const extras = extrasOf(row)
  const render = extras.render ?? ((answer) => renderResult(answer, emptyHint(row)))
  addFields(command.description(inShellWords(row.summary)), fields)
  for (const option of extras.options ?? []) command.addOption(option)
  if (!isRead(row)) addDryRun(command)
  if (destroys(row)) command.option('--yes', 'do not ask for confirmation')
  return command.runs(cli, done, async (args, options) => {
    const words = inputOf(fields, args, options)
    extras.prepare?.(words, options)
    const { client } = await connected(cli)
    if (fields.account === 'needed' || (fields.account === 'optional' && needsAccount(row, words))) {
      words.accountId = await accountOf(client, options.account)
    } else if (options.account !== undefined) words.accountId = await accountOf(client, options.account)
    const input = await withIds(client, words)
    const dryRun = options.dryRun === true
    if (destroys(row)) await confirm(cli, client, row, input, dryRun || options.yes === true)
    const answer = await client.call(row, input, { dryRun })
    if (cli.json) print(cli, answer, [])
    else if (dryRun) print(cli, answer, dryRunLines(answer))
    else {
      const after = (await extras.after?.(client, input)) ?? []
      const named = await withNames(client, row.id, await withEnvName(client, input, answer), input)
      print(cli, answer, [...render(named as never), ...after])
    }
    return exitCodes.done
  })
}

/** An answer names its environment by the name within its app, such as `prod`; people need the name that calls take. */
async function withEnvName(client: Client, { envName }: Options, answer: unknown): Promise<unknown> {
  const { appEnv } = answer as { appEnv?: { appEnvId: string; name?: string } }
  if (appEnv === undefined || 'cliEnvName' in appEnv) return answer
  const { appEnvId, name, ...others } = appEnv
  const cliEnvName = envName ?? (await client.call(getAppEnv, { appEnvId })).cliEnvName
  const named = name === undefined ? {} : { name }
  return { ...(answer as object), appEnv: { cliEnvName, appEnvId, ...named, ...others } }
}

export function addFields(command: CliCommand, { positionals, account, options }: RowFields): void {
  for (const name of positionals) {
    command.argument(`<${name}>`, positionalHelp(name))
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

/** Shows what a call destroys, by name and id; unless `agreed`, lets the person type the name. */
async function confirm(
  { io, json }: Cli,
  client: Client,
  row: Operation,
  input: Record<string, unknown>,
  agreed: boolean,
): Promise<void> {
  const refusal = 'this cannot be undone: add --yes to confirm, or --dry-run to see what it would do'
  if (!agreed && !io.ask) throw new UsageError(refusal)
  // With --yes the name is only shown, so the call itself reports what is wrong with the id.
  const object = await namedObject(client, row, input).catch((error) => {
    if (!agreed) throw error
    return null
  })
  const rows = object
    ? [
        [object.noun, printable(object.name)],
        ['id', object.id],
      ]
    : []
  if (!json) for (const line of aligned(rows)) io.stderr.write(`${line}\n`)
  if (agreed || !io.ask || !object) return
  const preview = await client.call(row, input, { dryRun: true })
  io.stderr.write(`${dryRunLines(preview).slice(0, -1).join('\n')}\n`)
  const typed = await io.ask(`Type ${printable(object.name)} to continue: `)
  if (typed === null) throw new UsageError(refusal)
  if (typed.trim() !== printable(object.name)) {
    throw new UsageError('the name does not match, so nothing was changed')
  }
}
