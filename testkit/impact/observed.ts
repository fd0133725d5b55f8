import type { Impact } from '../../src/contract/impact.ts'
import type { Rollout } from '../../src/domain/environments/environment.ts'
import type { Tables } from '../../src/store/db.ts'
import type { TestPlatform } from '../platform/test-platform.ts'

/** Rows that every call may add or change, whatever it does. */
const bookkeeping = new Set([
  'audit_log',
  'audit_heads',
  'idempotency',
  'migrations',
  'last_requests',
  'pending_authors',
  'activities',
  'data_keys',
  'installation',
  // Observations of the evaluator.
  'alert_states',
  'alert_history',
  'remediation_runs',
])
/** One row of these is one object that people manage. */
const objectTables = [
  'accounts',
  'apps',
  'app_envs',
  'alerts',
  'remediations',
  'contact_points',
  'chat_connections',
  'backups',
  'uploads',
  'secret_requests',
  'approvals',
  'domains',
] as const

interface Pod {
  podId: string
  appEnvId: string
  desiredState: string
}

/** What is stored at one time, as far as an impact speaks about it. */
interface Snapshot {
  tables: Map<string, string>
  objects: Map<string, number>
  zClouds: number
  pods: Map<string, string>
  /** The saved ones of each environment. */
  variables: Map<string, Map<string, string>>
  /** Those of each rollout that is or becomes the one in force. */
  rollouts: Map<string, { appEnvId: string; isInForce: boolean; variables: Map<string, string> }>
  messages: Map<string, string>
  lastSeq: number
}

/** Every row of every table, and the parts that an impact counts. */
export async function snapshotOf({ db }: TestPlatform): Promise<Snapshot> {
  return db.read(async (tx) => {
    const names = (await tx.introspection.getTables()).map(({ name }) => name as keyof Tables)
    const tables = new Map<string, string>()
    const objects = new Map<string, number>()
    for (const name of names) {
      if (bookkeeping.has(name)) continue
      const rows = await tx.selectFrom(name).selectAll().execute()
      tables.set(name, JSON.stringify(rows.map((row) => withoutBookkeeping(row)).sort()))
      objects.set(name, rows.length)
    }
    const environments = await tx.selectFrom('app_envs').select(['app_env_id', 'size', 'record']).execute()
    const current = new Set(
      environments.map(
        ({ record }) => (JSON.parse(record) as { currentRolloutId: string | null }).currentRolloutId,
      ),
    )
    const rollouts = (await tx.selectFrom('rollouts').select('record').execute()).map(
      ({ record }) => JSON.parse(record) as Rollout,
    )
    const pods = (await tx.selectFrom('pods').select('record').execute()).map(
      ({ record }) => JSON.parse(record) as Pod,
    )
    const messages = await tx
      .selectFrom('notifications')
      .select(['notification_id', 'contact_point_id'])
      .execute()
    const last = await tx
      .selectFrom('audit_log')
      .select((e) => e.fn.max('seq').as('seq'))
      .executeTakeFirst()
    return {
      tables,
      objects,
      zClouds: environments.reduce((sum, { size }) => sum + Number(size), 0),
      pods: new Map(pods.filter((pod) => pod.desiredState === 'run').map((pod) => [pod.podId, pod.appEnvId])),
      variables: new Map(
        environments.map(({ app_env_id, record }) => [app_env_id, variablesIn(JSON.parse(record).saved)]),
      ),
      rollouts: new Map(
        rollouts.map(({ rolloutId, appEnvId, settings }) => [
          rolloutId,
          { appEnvId, isInForce: current.has(rolloutId), variables: variablesIn(settings) },
        ]),
      ),
      messages: new Map(messages.map((row) => [row.notification_id, row.contact_point_id])),
      lastSeq: Number(last?.seq ?? 0),
    }
  })
}

function withoutBookkeeping(row: object): string {
  const { record, revision: _, ...rest } = row as Record<string, unknown>
  const stored = typeof record === 'string' ? (JSON.parse(record) as Record<string, unknown>) : {}
  for (const key of ['revision', 'updatedAt', 'createdAs']) delete stored[key]
  return JSON.stringify([rest, stored])
}

function variablesIn({ envVars }: { envVars: { name: string }[] }): Map<string, string> {
  return new Map(envVars.map((one) => [one.name, JSON.stringify(one)]))
}

/** What then happened differently than the impact states; empty if it is right. */
export function contradictions(impact: Impact, before: Snapshot, after: Snapshot, isProbe = false): string[] {
  const found: string[] = []
  const compare = (what: string, stated: unknown, was: unknown) => {
    if (JSON.stringify(stated) !== JSON.stringify(was))
      found.push(`${what}: stated ${JSON.stringify(stated)}, was ${JSON.stringify(was)}`)
  }
  const ended = [...before.pods].filter(([podId]) => !after.pods.has(podId))
  const started = [...after.pods].filter(([podId]) => !before.pods.has(podId))
  compare('containersEnded', impact.containersEnded, ended.length)
  if (!impact.actions.includes('run-job') && !isProbe)
    compare('containersStarted', impact.containersStarted, started.length)
  compare('zCloudsDelta', impact.zCloudsDelta, after.zClouds - before.zClouds)
  // A rollback changes variables that serve, and may leave the saved ones as they are.
  const [saved, inForce] = [changedVariables(before, after), changedInForce(before, after)]
  const stated = [...impact.variables.changed].sort()
  compare(
    'variables.changed',
    stated.filter((name) => saved.includes(name) || !inForce.has(name)),
    saved,
  )
  const grew = (more: boolean) =>
    objectTables.some((name) => (more ? 1 : -1) * (after.objects.get(name)! - before.objects.get(name)!) > 0)
  compare('create-object', impact.actions.includes('create-object'), grew(true))
  compare('delete-object', impact.actions.includes('delete-object'), grew(false))
  const sent = [...after.messages].filter(([id]) => !before.messages.has(id))
  compare('peopleNotified', impact.peopleNotified, sent.length)
  compare('send-message', impact.actions.includes('send-message'), sent.length > 0)
  const touched = new Set([...ended, ...started].map(([, appEnvId]) => appEnvId))
  const missing = [...touched].filter((id) => !impact.environments.includes(id))
  if (missing.length > 0) found.push(`environments: ${missing.join()} had containers that ended or started`)
  const changed = [...before.tables]
    .filter(([name, rows]) => after.tables.get(name) !== rows)
    .map(([name]) => name)
  // A check of the DNS records its result.
  const others = changed.filter((name) => name !== 'domains')
  if (impact.actions.includes('none') && others.length > 0) found.push(`none, but ${others.join()} changed`)
  // The load of a probe is stored nowhere.
  if (!impact.actions.includes('none') && changed.length === 0 && !isProbe)
    found.push(`${impact.actions.join()}, but nothing changed`)
  return found
}

function changedVariables(before: Snapshot, after: Snapshot): string[] {
  const ids = new Set([...before.variables.keys(), ...after.variables.keys()])
  const names = [...ids].flatMap((id) => differing(before.variables.get(id), after.variables.get(id)))
  return [...new Set(names)].sort()
}

function changedInForce(before: Snapshot, after: Snapshot): Set<string> {
  const started = [...after.rollouts].filter(([rolloutId]) => !before.rollouts.has(rolloutId))
  return new Set(
    started.flatMap(([, { appEnvId, variables }]) => {
      const served = [...before.rollouts.values()].find((one) => one.isInForce && one.appEnvId === appEnvId)
      return differing(served?.variables, variables)
    }),
  )
}

function differing(before = new Map<string, string>(), after = new Map<string, string>()): string[] {
  return [...new Set([...before.keys(), ...after.keys()])].filter(
    (name) => before.get(name) !== after.get(name),
  )
}
