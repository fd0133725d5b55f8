import type { Backup } from '../../src/domain/backups/backup.ts'
import { insertBackup } from '../../src/store/repositories/backups.ts'
import { insertJobRun } from '../../src/store/repositories/job-runs.ts'
import { storedRun } from '../jobs/stored-run.ts'
import type { RawAnswer } from '../platform/raw-request.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import { insertTestRemediation } from '../remediation/stored.ts'

/** One object of every kind in one account, related to each other. Free-text names contain the marker. */
export interface World {
  marker: string
  accountId: string
  appId: string
  appEnvId: string
  envName: string
  membershipId: string
  contactPointId: string
  alertId: string
  jobRunId: string
  backupId: string
  entryId: string
  approvalId: string
  remediationId: string
  runId: string
  /** A plan for its environment. */
  steps: { operation: string; input: Record<string, unknown> }[]
}

/** Makes a world as the admin of the platform, who must be an admin of the account too. */
export async function makeWorld(platform: TestPlatform, marker: string, accountId: string): Promise<World> {
  const send = async (method: string, path: string, input: Record<string, unknown>) =>
    succeeded(await platform.request(method, path, { token: platform.admin.token, input }))
  const { appId, appEnvId } = await platform.makeEnvironment({
    accountId,
    app: { name: `${marker} app` },
    environment: { name: `${marker} env`, envVars: [{ name: `${marker}_VARIABLE`, value: 'x' }] },
  })
  const { cliEnvName } = await send('GET', '/app-env', { appEnvId })
  const config = { url: `https://hooks.example.com/${marker}` }
  const point = { accountId, name: `${accountId} point`, type: 'webhook', config }
  const { contactPointId } = (await send('POST', '/contact-point', point)).contactPoint
  const alert = {
    appEnvId,
    name: `${marker} alert`,
    metric: 'cpu_percent',
    operator: 'gt',
    threshold: 80,
    duration: '1m',
    contactPointIds: [],
  }
  const { alertId } = (await send('POST', '/app-env/alert', alert)).alert
  const member = { accountId, email: `${marker.toLowerCase()}@example.com`, name: 'Member' }
  const { membershipId } = await send('POST', '/member', member)
  const jobRunId = `run_${appEnvId.slice(4)}`
  await platform.db.write((tx) =>
    insertJobRun(tx, storedRun(jobRunId, { appEnvId, accountId }, platform.now)),
  )
  const backupId = `bak_${appEnvId.slice(4)}`
  const backup = {
    ...doneBackup,
    backupId,
    appEnvId,
    accountId,
    envName: cliEnvName,
    createdAt: platform.now,
  }
  await platform.db.write((tx) => insertBackup(tx, backup))
  await send('PATCH', '/app-env/containers', { appEnvId, containers: 2 })
  const { entries } = await send('GET', '/audit', { accountId, objectId: appEnvId, limit: 1 })
  const set = [{ name: 'PLANNED', value: 'x', isSecret: false }]
  const steps = [{ operation: 'update-app-env-variables', input: { appEnvId, set } }]
  const { approvalId } = await send('POST', '/plan', { accountId, title: `${marker} plan`, steps })
  const ids = { accountId, appId, appEnvId, membershipId, contactPointId, alertId, jobRunId, backupId }
  const remediation = await insertTestRemediation(platform, appEnvId, platform.admin.token, `${marker} fix`)
  const made = { entryId: entries[0].entryId, approvalId, ...remediation }
  return { marker, ...ids, envName: cliEnvName, ...made, steps }
}

const doneBackup: Omit<Backup, 'backupId' | 'appEnvId' | 'accountId' | 'envName' | 'createdAt'> = {
  dockerPreset: 'REDIS',
  dockerPresetVersion: '7',
  status: 'SUCCEEDED',
  format: 'rdb',
  sizeBytes: 1,
  sha256: 'x',
  failure: null,
  createdBy: 'usr_x',
  finishedAt: null,
}

function succeeded({ status, json, text }: RawAnswer) {
  if (status !== 200) throw new Error(text)
  return json
}
