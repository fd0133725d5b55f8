import { readFileSync } from 'node:fs'
import type { Client } from '../client/client.ts'
import { listAccounts } from '../contract/accounts.ts'
import {
  contactPointTypes,
  createContactPoint,
  deleteContactPoint,
  listContactPoints,
  testContactPoint,
} from '../contract/contact-points.ts'
import { chosen, parsedOptions } from './alert-options.ts'
import { pointsReport } from './alert-report.ts'
import { exitCodes, UsageError } from './command-io.ts'
import { printable } from './progress.ts'

/** What a command of `longshore alerts` works with. */
export interface Run {
  client: Client
  /** Prints the answer: as JSON, or as the lines. */
  say(answer: unknown, lines: readonly string[]): void
}
/** Resolves to the exit code. */
export type Perform = (run: Run) => Promise<number>
/** Reads its arguments before anything is asked, so that a mistyped option changes nothing. */
export type Command = (argv: string[]) => Perform

export const contactPointCommands: Record<string, Command> = {
  points(argv) {
    none(argv)
    return async ({ client, say }) => {
      const { accounts } = await client.call(listAccounts, {})
      const lists = accounts.map(({ accountId }) => client.call(listContactPoints, { accountId }))
      const contactPoints = (await Promise.all(lists)).flatMap((list) => list.contactPoints)
      say({ contactPoints }, pointsReport(contactPoints))
      return exitCodes.done
    }
  },
  'add-point'(argv) {
    const text = { type: 'string' } as const
    const { values } = parsedOptions(argv, { type: text, name: text, config: text, account: text })
    const { type, name, config: file } = values
    if (type === undefined || name === undefined || file === undefined) {
      throw new UsageError('--type, --name and --config are needed')
    }
    const input = { type: chosen('--type', type, contactPointTypes), name, config: configIn(file) }
    return async ({ client, say }) => {
      const accountId = values.account ?? (await onlyAccount(client))
      const answer = await client.call(createContactPoint, { accountId, ...input })
      const { contactPointId } = answer.contactPoint
      say(answer, [
        `${printable(answer.message)} ${contactPointId}`,
        `Try it: longshore alerts test ${contactPointId}`,
      ])
      return exitCodes.done
    }
  },
  'delete-point'(argv) {
    const contactPointId = one(argv, 'a contactPointId; alerts points shows them')
    return async ({ client, say }) => {
      const answer = await client.call(deleteContactPoint, { contactPointId })
      say(answer, [printable(answer.message)])
      return exitCodes.done
    }
  },
  test(argv) {
    const contactPointId = one(argv, 'a contactPointId; alerts points shows them')
    return async ({ client, say }) => {
      const answer = await client.call(testContactPoint, { contactPointId })
      const attempts = answer.attempts.map(({ at, ok, reason = '' }) =>
        `  ${ok ? '✓' : '✗'} ${at}  ${printable(reason)}`.trimEnd(),
      )
      const verdict = answer.delivered ? 'The test notice arrived.' : 'The test notice did NOT arrive.'
      say(answer, [verdict, ...attempts])
      return answer.delivered ? exitCodes.done : exitCodes.failed
    }
  },
}

/** Settings come from a file or standard input: addresses and keys stay out of process lists and histories. */
function configIn(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new UsageError(`--config ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  try {
    return JSON.parse(text)
  } catch {
    // What is in the file may be a secret, so the parser's own words stay out.
    throw new UsageError(`--config ${file} is not JSON, such as {"url": "https://..."}`)
  }
}

async function onlyAccount(client: Client): Promise<string> {
  const { accounts } = await client.call(listAccounts, {})
  const [account, ...more] = accounts
  if (account && more.length === 0) return account.accountId
  const ids = accounts.map(({ accountId, name }) => `${accountId} (${printable(name)})`)
  throw new UsageError(`--account says which one: ${ids.join(', ')}`)
}

export function one(argv: readonly string[], what: string): string {
  const { positionals } = parsedOptions(argv, {})
  const [only, ...more] = positionals
  if (only === undefined || more.length > 0) throw new UsageError(`name ${what}`)
  return only
}

export function none(argv: readonly string[]): void {
  if (parsedOptions(argv, {}).positionals.length > 0) throw new UsageError('this one takes no argument')
}
