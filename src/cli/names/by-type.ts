import type { Client } from '../../client/client.ts'
import { getAlert, listAlerts } from '../../contract/alerts.ts'
import { getAppEnv, listAppEnvs } from '../../contract/app-envs.ts'
import { getApp, listApps } from '../../contract/apps.ts'
import { getAppEnvBackup } from '../../contract/backups.ts'
import { getContactPoint, listContactPoints } from '../../contract/contact-points.ts'
import { listMembers } from '../../contract/members.ts'
import { getRemediation, listRemediations } from '../../contract/remediations.ts'
import type { ResourceType } from '../../contract/resources.ts'

/** An id with the name for people. */
export type Named = readonly [id: string, name: string]

/** How commands look up the names of the objects of one type. */
interface NamedType {
  /** Those of an account. Left out where commands take ids only. */
  all?(client: Client, accountId: string): Promise<Named[]>
  /** The one that an input names by `id`. */
  one(client: Client, id: string, input: Readonly<Record<string, unknown>>): Promise<Named>
}

/** One row for each type whose objects have names; those of other types are shown by id. */
export const namedTypes: { readonly [Type in ResourceType]?: NamedType } = {
  environment: {
    all: async (client, accountId) =>
      (await client.call(listAppEnvs, { accountId })).appEnvs.map((one) => [one.appEnvId, one.cliEnvName]),
    one: async (client, _, { appEnvId, envName }) => {
      const found = await client.call(getAppEnv, appEnvId === undefined ? { envName } : { appEnvId })
      return [found.appEnvId, found.cliEnvName]
    },
  },
  app: {
    all: async (client, accountId) =>
      (await client.call(listApps, { accountId })).apps.map((one) => [one.appId, one.name]),
    one: async (client, appId) => [appId, (await client.call(getApp, { appId })).name],
  },
  'contact-point': {
    all: async (client, accountId) =>
      (await client.call(listContactPoints, { accountId })).contactPoints.map((one) => [
        one.contactPointId,
        one.name,
      ]),
    one: async (client, contactPointId) => [
      contactPointId,
      (await client.call(getContactPoint, { contactPointId })).name,
    ],
  },
  alert: {
    all: async (client, accountId) =>
      (await client.call(listAlerts, { accountId, limit: 1000 })).alerts.map((one) => [
        one.alertId,
        one.name,
      ]),
    one: async (client, alertId) => [alertId, (await client.call(getAlert, { alertId })).name],
  },
  remediation: {
    all: async (client, accountId) =>
      (await client.call(listRemediations, { accountId, limit: 1000 })).remediations.map((one) => [
        one.remediationId,
        one.name,
      ]),
    one: async (client, remediationId) => [
      remediationId,
      (await client.call(getRemediation, { remediationId })).name,
    ],
  },
  member: {
    all: membersOf,
    one: async (client, id, { accountId }) =>
      (await membersOf(client, String(accountId))).find(([one]) => one === id) ?? [id, id],
  },
  backup: {
    one: async (client, backupId) => {
      const { backup } = await client.call(getAppEnvBackup, { backupId })
      return [backupId, `${backup.envName} ${backup.createdAt}`]
    },
  },
}

async function membersOf(client: Client, accountId: string): Promise<Named[]> {
  const { members } = await client.call(listMembers, { accountId })
  return members.map(({ membershipId, email }) => [membershipId, email])
}
