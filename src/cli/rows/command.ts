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
import { ofEveryAccount } from './every-account.ts'
import type { Input, RowCall, RowExtension } from './extension.ts'
import { emptyHint, extensionOf } from './extensions.ts'
import { positionalHelp } from './field-help.ts'
import { fieldsOf, type RowFields } from './fields.ts'
import { inShellWords } from './words.ts'

/**
 * Adds the positionals and options of an operation to a command, and its action. `fixed` are fields of the input that the
 * command sets.
 */
export function rowCommand(
  command: CliCommand,
  row: Operation,
  cli: Cli,
  done: Done,
  fixed: Options = {},
): CliCommand {
  command.description(inShellWords(row.summary))
  if (!mayBeCalled(cli, command)) return command
  const fields = fieldsOf(row, Object.keys(fixed))
  const extension = extensionOf(row)
  addFields(command, fields, extension.filled)
  if (extension.argument) command.argument(...extension.argument)
  for (const option of extension.options ?? []) command.addOption(option)
  if (!isRead(row)) addDryRun(command)
  if (destroys(row)) command.option('--yes', 'do not ask for confirmation')
  return command.runs(cli, done, async (args, options) => {
    const words: Input = { ...inputOf(fields, args, options), ...fixed }
    extension.prepare?.(words, options)
    const { client } = await connected(cli)
    const readsEveryAccount =
      extension.everyAccount === true && options.account === undefined && isOfAll(row, words)
    if (options.account !== undefined || (!readsEveryAccount && needsAccount(row, fields, words))) {
      words.accountId = await accountOf(client, options.account)
    }
    const input = await withIds(client, words)
    await extension.resolve?.(client, input, options)
    const call: RowCall = { cli, client, args, input, options }
    const dryRun = options.dryRun === true
    if (destroys(row)) await confirm(cli, client, row, call.input, dryRun || options.yes === true)
    if (dryRun) return dryRunOf(call, row, extension)
    const first = readsEveryAccount
      ? await ofEveryAccount(client, row, call.input)
      : await client.call(row, call.input)
    const answer = ((await extension.complete?.(call, first as never)) ?? first) as never
    await printAnswer(call, row, extension, answer)
    return extension.exitCode?.(answer, options) ?? exitCodes.done
  })
}

/** Options come from the schema of the input, at a cost: only for the command that is called, or for all without one. */
export function mayBeCalled({ words }: Cli, command: CliCommand): boolean {
  return words.length === 0 || words.includes(command.name())
}

async function dryRunOf(
  { cli, client, input }: RowCall,
  row: Operation,
  extension: RowExtension,
): Promise<number> {
  const answer = await client.call(row, input, { dryRun: true })
  print(cli, answer, (extension.renderDryRun ?? dryRunLines)(answer as never, input))
  return exitCodes.done
}

async function printAnswer(
  call: RowCall,
  row: Operation,
  extension: RowExtension,
  answer: never,
): Promise<void> {
  const { cli, client, input, options } = call
  if (extension.print) return extension.print(call, answer)
  if (cli.json) return print(cli, answer, [])
  const after = (await extension.after?.(client, input)) ?? []
  const named = await withNames(client, row.id, await withEnvName(client, input, answer), input)
  const lines = extension.render?.(named as never, options) ?? renderResult(named, emptyHint(row))
  print(cli, answer, [...lines, ...after])
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

/** `filled` are required fields that the command fills in where they are left out. */
export function addFields(
  command: CliCommand,
  { positionals, isEnvironmentOptional, account, options }: RowFields,
  filled: readonly string[] = [],
): void {
  for (const name of positionals) {
    command.argument(isEnvironmentOptional ? `[${name}]` : `<${name}>`, positionalHelp(name))
  }
  if (account !== null) command.option('--account <account>', 'its id or name; not needed with one account')
  for (const { field, flags, required } of options) {
    for (const option of flags) {
      if (required && !option.negate && !filled.includes(field)) command.needs(option)
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
    if (args[index] === undefined && fields.isEnvironmentOptional) continue
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

/**
 * Whether a call needs an account: also for an account or an object in it, if the input names neither app nor
 * environment.
 */
function needsAccount(row: Operation, fields: RowFields, input: Options): boolean {
  const isOptional = row.policy.on === 'account-or-app' || row.policy.on === 'environments'
  return fields.account === 'needed' || (isOptional && !isNarrowed(input))
}

/** Whether a list is of everything, and whole: pages are of one account. */
function isOfAll(row: Operation, input: Options): boolean {
  const isOne = row.policy.on === 'environments' && isNarrowed(input)
  return !isOne && input.limit === undefined && input.offset === undefined
}

function isNarrowed({ appId, appEnvId, envName }: Options): boolean {
  return (appId ?? appEnvId ?? envName) !== undefined
}

/** Revoking a leaked token must be fast, so it needs no confirmation. */
function destroys(row: Operation): boolean {
  return row.method === 'DELETE' && row.id !== 'revoke-user-token'
}

/** Shows the object that a call destroys, by name and id; unless `agreed`, the person has to type the name. */
async function confirm(
  { io, json }: Cli,
  client: Client,
  row: Operation,
  input: Record<string, unknown>,
  agreed: boolean,
): Promise<void> {
  const refusal = 'this cannot be undone: add --yes to confirm, or --dry-run to see what it would do'
  if (!agreed && !io.ask) throw new UsageError(refusal)
  // With --yes the name is only shown, so the call itself reports a wrong id.
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
