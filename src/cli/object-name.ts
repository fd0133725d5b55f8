import type { Client } from '../client/client.ts'
import { getAlert } from '../contract/alerts.ts'
import { getAppEnv } from '../contract/app-envs.ts'
import { getApp } from '../contract/apps.ts'
import { getAppEnvBackup } from '../contract/backups.ts'
import { getContactPoint } from '../contract/contact-points.ts'
import { listMembers } from '../contract/members.ts'
import type { Options } from './cli-command.ts'

/** An object that a call names, with the name that a person knows. */
interface NamedObject {
  kind: string
  id: string
  /** The id where the object has no name. */
  name: string
}

/** Reads the name of the object that an input names by id; null for an input that names none. */
export async function namedObject(client: Client, input: Options): Promise<NamedObject | null> {
  const { appEnvId, envName, appId, alertId, contactPointId, membershipId, backupId, accountId } = input
  if (envName !== undefined || appEnvId !== undefined) {
    const found = await client.call(getAppEnv, appEnvId === undefined ? { envName } : { appEnvId })
    return { kind: 'environment', id: found.appEnvId, name: found.cliEnvName }
  }
  if (typeof appId === 'string') {
    return { kind: 'app', id: appId, name: (await client.call(getApp, { appId })).name }
  }
  if (typeof alertId === 'string') {
    return { kind: 'alert', id: alertId, name: (await client.call(getAlert, { alertId })).name }
  }
  if (typeof contactPointId === 'string') {
    const { name } = await client.call(getContactPoint, { contactPointId })
    return { kind: 'contact point', id: contactPointId, name }
  }
  if (typeof membershipId === 'string') {
    const { members } = await client.call(listMembers, { accountId })
    const member = members.find((one) => one.membershipId === membershipId)
    return { kind: 'member', id: membershipId, name: member?.email ?? membershipId }
  }
  if (typeof backupId !== 'string') return null
  const { backup } = await client.call(getAppEnvBackup, { backupId })
  return { kind: 'backup', id: backupId, name: `${backup.envName} ${backup.createdAt}` }
}
