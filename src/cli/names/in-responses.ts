import type { Client } from '../../client/client.ts'
import type { getAlert } from '../../contract/alerts.ts'
import type { getAppEnvHistory } from '../../contract/app-env-reads.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import type { listAudit } from '../../contract/audit.ts'
import type { whatChanged } from '../../contract/diagnosis.ts'
import type { getMemberEnvAccess, listMembers } from '../../contract/members.ts'
import type { OutputOf } from '../../contract/operation.ts'
import type { Options } from '../command.ts'
import { namesOf } from './lookup.ts'

/** An answer for people, with names for the ids that calls do not take. `--json` prints the answer itself. */
type Naming = (client: Client, answer: never, input: Options) => Promise<unknown>

const namings: Readonly<Record<string, Naming>> = {
  'get-alert': async (client, alert: OutputOf<typeof getAlert>) => {
    const { cliEnvName: envName } = await client.call(getAppEnv, { appEnvId: alert.appEnvId })
    return { ...alert, envName }
  },
  'list-audit': async (client, { entries, cursor }: OutputOf<typeof listAudit>, { accountId }) => {
    const ids = entries.map(({ objectId }) => objectId)
    const names = await namesOf(client, String(accountId), ids)
    const named = entries.map(({ timestamp, principal, surface, operation, ...entry }) => ({
      entryId: entry.entryId,
      timestamp,
      principal,
      surface,
      operation,
      object: names.get(entry.objectId) ?? null,
      objectId: entry.objectId,
      outcome: entry.outcome,
      changes: entry.changes,
    }))
    return { entries: named, cursor }
  },
  'what-changed': async (client, answer: OutputOf<typeof whatChanged>) => {
    const nameOf = await usersNear(
      client,
      answer.appEnvId,
      answer.changes.map(({ by }) => by),
    )
    return { ...answer, changes: answer.changes.map((change) => ({ ...change, by: nameOf(change.by) })) }
  },
  'get-app-env-history': async (client, answer: OutputOf<typeof getAppEnvHistory>) => {
    const { activities } = answer
    const nameOf = await usersNear(
      client,
      answer.appEnvId,
      activities.map(({ userId }) => userId),
    )
    const named = activities.map(({ userId, ...activity }) => ({ ...activity, by: nameOf(userId) }))
    return { ...answer, activities: named }
  },
  'list-members': async (client, answer: OutputOf<typeof listMembers>, { accountId }) => {
    const ids = answer.members.flatMap(({ allowedAppEnvIds }) => allowedAppEnvIds)
    const names = await namesOf(client, String(accountId), ids)
    const members = answer.members.map(({ allowedAppEnvIds, ...member }) => ({
      ...member,
      environments: allowedAppEnvIds.map((id) => names.get(id) ?? id),
    }))
    return { ...answer, members }
  },
  'get-member-env-access': namedAccess,
  'update-member-env-access': namedAccess,
}

async function namedAccess(client: Client, answer: OutputOf<typeof getMemberEnvAccess>): Promise<unknown> {
  const { allowedAppEnvIds, ...access } = answer
  const names = await namesOf(client, answer.accountId, allowedAppEnvIds)
  return { ...access, environments: allowedAppEnvIds.map((id) => names.get(id) ?? id) }
}

export async function withNames(
  client: Client,
  operationId: string,
  answer: unknown,
  input: Options,
): Promise<unknown> {
  return (await namings[operationId]?.(client, answer as never, input)) ?? answer
}

async function usersNear(client: Client, appEnvId: string, ids: readonly (string | null)[]) {
  const users = ids.filter((id) => id !== null)
  if (users.length === 0) return (id: string | null) => id
  const { accountId } = await client.call(getAppEnv, { appEnvId })
  const names = await namesOf(client, accountId, users)
  return (id: string | null) => (id === null ? null : (names.get(id) ?? id))
}
