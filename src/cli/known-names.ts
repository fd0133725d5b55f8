import type { Client } from '../client/client.ts'
import { nearestEnvironments } from '../client/nearest-environments.ts'
import { listAccounts } from '../contract/accounts.ts'
import { listAlerts } from '../contract/alerts.ts'
import { listAppEnvs } from '../contract/app-envs.ts'
import { listApps } from '../contract/apps.ts'
import { listAudit } from '../contract/audit.ts'
import { listContactPoints } from '../contract/contact-points.ts'
import { listMembers } from '../contract/members.ts'
import { getUser } from '../contract/users.ts'
import { AppError } from '../errors.ts'
import { nearestName } from '../nearest.ts'
import { printable } from './progress.ts'

type Input = Readonly<Record<string, unknown>>

/** An id with the name that people know. */
type Named = readonly [id: string, name: string]

interface Kind {
  noun: string
  /** The command that shows the names. */
  listedBy: string
  prefix: string
  read(client: Client, accountId: string): Promise<Named[]>
}

const kinds: readonly Kind[] = [
  {
    noun: 'environment',
    listedBy: 'longshore envs list',
    prefix: 'env_',
    read: async (client, accountId) =>
      (await client.call(listAppEnvs, { accountId })).appEnvs.map((one) => [one.appEnvId, one.cliEnvName]),
  },
  {
    noun: 'app',
    listedBy: 'longshore apps list',
    prefix: 'app_',
    read: async (client, accountId) =>
      (await client.call(listApps, { accountId })).apps.map((one) => [one.appId, one.name]),
  },
  {
    noun: 'contact point',
    listedBy: 'longshore contact-points list',
    prefix: 'cp_',
    read: async (client, accountId) =>
      (await client.call(listContactPoints, { accountId })).contactPoints.map((one) => [
        one.contactPointId,
        one.name,
      ]),
  },
  {
    noun: 'alert',
    listedBy: 'longshore alerts list',
    prefix: 'alr_',
    read: async (client, accountId) =>
      (await client.call(listAlerts, { accountId, limit: 1000 })).alerts.map((one) => [
        one.alertId,
        one.name,
      ]),
  },
  {
    noun: 'member',
    listedBy: 'longshore members list',
    prefix: 'mem_',
    read: async (client, accountId) =>
      (await client.call(listMembers, { accountId })).members.map((one) => [one.membershipId, one.email]),
  },
]

/** Fields of inputs that take a name in place of the id: the name of an app, the e-mail address of a member. */
const fields: Readonly<Record<string, string>> = {
  alertId: 'alr_',
  appId: 'app_',
  contactPointId: 'cp_',
  contactPointIds: 'cp_',
  membershipId: 'mem_',
  allowedAppEnvIds: 'env_',
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
  for (const [field, prefix] of Object.entries(fields)) {
    const given = input[field]
    const kind = kinds.find((one) => one.prefix === prefix)!
    const idOf = (word: string) => (word.startsWith(prefix) ? word : lookUp(client, kind, word, input))
    if (typeof given === 'string') found[field] = await idOf(given)
    if (Array.isArray(given)) found[field] = await Promise.all(given.map((word) => idOf(String(word))))
  }
  return found as Given
}

async function lookUp(client: Client, kind: Kind, word: string, { accountId }: Input): Promise<string> {
  const all: Named[] = []
  for (const account of await accountsOf(client, accountId)) all.push(...(await kind.read(client, account)))
  const ids = all.filter(([, name]) => name === word).map(([id]) => id)
  if (ids.length === 1) return ids[0]!
  if (ids.length > 1) {
    throw new AppError('invalid', `${ids.length} ${kind.noun}s have the name ${printable(word)}`, {
      details: `Give the id: ${ids.join(', ')}.`,
    })
  }
  const names = all.map(([, name]) => name)
  const near = nearestName(word, names)
  throw new AppError('not-found', `There is no ${kind.noun} ${printable(word)}`, {
    details: `${near === null ? '' : `Did you mean ${printable(near)}? `}${kind.listedBy} shows those you can reach.`,
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
  const needed = kinds.filter(({ prefix }) => ids.some((id) => id.startsWith(prefix)))
  const reads = needed.map((kind) => kind.read(client, accountId))
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
