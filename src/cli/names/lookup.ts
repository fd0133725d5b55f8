import type { Client } from '../../client/client.ts'
import { nearestEnvironments } from '../../client/nearest-environments.ts'
import { listAccounts } from '../../contract/accounts.ts'
import { listAudit } from '../../contract/audit.ts'
import { factsOf, type ResourceType, resourceTypes } from '../../contract/resources.ts'
import { getUser } from '../../contract/users.ts'
import { AppError } from '../../errors.ts'
import { nearestName } from '../../nearest.ts'
import { printable } from '../progress.ts'
import { wordsOf } from '../rows/words.ts'
import { type Named, namedTypes } from './by-type.ts'

type Input = Readonly<Record<string, unknown>>

/** Fields of inputs that take a name in place of the id: the name of an app, the e-mail address of a member. */
const fields: Readonly<Record<string, ResourceType>> = {
  alertId: 'alert',
  remediationId: 'remediation',
  appId: 'app',
  contactPointId: 'contact-point',
  contactPointIds: 'contact-point',
  membershipId: 'member',
  allowedAppEnvIds: 'environment',
}

/** A client whose errors name the environment that was probably meant: a mistyped name, or the name of the app. */
export function suggestingNames(client: Client): Client {
  const call: Client['call'] = (row, input, options) =>
    client.call(row, input, options).catch(async (error) => {
      const { envName } = input as Input
      if (!(error instanceof AppError) || error.kind !== 'not-found' || typeof envName !== 'string')
        throw error
      const near = await accountsOf(client, undefined)
        .then((accountIds) => nearestEnvironments(client, envName, accountIds))
        .catch(() => [])
      const names = near.map(({ cliEnvName }) => cliEnvName)
      // If it exists, something else was not found.
      if (names.length === 0 || names.includes(envName)) throw error
      const details = `Did you mean ${names.join(' or ')}? longshore envs list shows those you can reach.`
      throw new AppError('not-found', error.message, { details, cause: error })
    })
  return { ...client, call }
}

/** The input with ids for the names in it. Throws `AppError` for a name that no object or several have. */
export async function withIds<Given extends Input>(client: Client, input: Given): Promise<Given> {
  const found: Record<string, unknown> = { ...input }
  for (const [field, type] of Object.entries(fields)) {
    const given = input[field]
    const idOf = (word: string) => (isIdOf(type, word) ? word : lookUp(client, type, word, input))
    if (typeof given === 'string') found[field] = await idOf(given)
    if (Array.isArray(given)) found[field] = await Promise.all(given.map((word) => idOf(String(word))))
  }
  return found as Given
}

const isIdOf = (type: ResourceType, word: string) => word.startsWith(`${factsOf(type).idPrefix}_`)

async function lookUp(
  client: Client,
  type: ResourceType,
  word: string,
  { accountId }: Input,
): Promise<string> {
  const { listedBy = '' } = factsOf(type)
  const noun = factsOf(type).noun.toLowerCase()
  const all: Named[] = []
  for (const account of await accountsOf(client, accountId)) {
    all.push(...((await namedTypes[type]?.all?.(client, account)) ?? []))
  }
  const ids = all.filter(([, name]) => name === word).map(([id]) => id)
  if (ids.length === 1) return ids[0]!
  if (ids.length > 1) {
    throw new AppError('invalid', `${ids.length} ${noun}s have the name ${printable(word)}`, {
      details: `Give the id: ${ids.join(', ')}.`,
    })
  }
  const names = all.map(([, name]) => name)
  const near = nearestName(word, names)
  throw new AppError('not-found', `There is no ${noun} ${printable(word)}`, {
    details: `${near === null ? '' : `Did you mean ${printable(near)}? `}longshore ${wordsOf(listedBy).join(' ')} shows those you can reach.`,
  })
}

async function accountsOf(client: Client, accountId: unknown): Promise<string[]> {
  if (typeof accountId === 'string') return [accountId]
  return (await client.call(listAccounts, {})).accounts.map((account) => account.accountId)
}

/** Names by id, for those ids that the caller may look up and that still exist. Users are named by e-mail address. */
export async function namesOf(
  client: Client,
  accountId: string,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const needed = resourceTypes.filter((type) => ids.some((id) => isIdOf(type, id)))
  const reads = needed.flatMap((type) => namedTypes[type]?.all?.(client, accountId) ?? [])
  if (ids.some((id) => id.startsWith('usr_'))) reads.push(usersOf(client, accountId))
  return new Map((await Promise.all(reads.map(allowed))).flat())
}

/** The caller, and for an admin everyone with an entry in the audit log. */
async function usersOf(client: Client, accountId: string): Promise<Named[]> {
  const { userId, email } = await client.call(getUser, {})
  const entries = await allowed(
    client.call(listAudit, { accountId, limit: 200 }).then((list) => list.entries),
  )
  const others = entries.map(({ principal }): Named => [principal.id, principal.email ?? principal.id])
  return [...others, [userId, email]]
}

/** A list that the caller may not read is empty. */
async function allowed<Item>(list: Promise<Item[]>): Promise<Item[]> {
  return list.catch((error) => {
    if (error instanceof AppError && error.kind === 'forbidden') return []
    throw error
  })
}
