import type { LogLine } from '../../contract/app-env-reads.ts'
import type { Host } from '../../contract/app-envs.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import type { DatabaseFacts } from '../../domain/diagnosis/facts.ts'
import type { Environment, StoredVariable } from '../../domain/environments/environment.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, listEnvironments } from '../../store/repositories/environments.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import { openVariable } from '../../store/secrets/opened.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'

/** Managed databases whose address a variable in force or a log line names; those that the caller may access (M2). */
export async function loadDatabaseFacts(
  context: Context,
  target: EnvironmentTarget,
  variables: readonly StoredVariable[],
  lines: readonly LogLine[],
): Promise<DatabaseFacts[]> {
  const { account, membership } = target
  // A token of one environment reaches no other.
  if (membership === null) return []
  const { appEnvId, accountId } = target.environment
  const values = variables.map((variable) => ({
    name: variable.name,
    value: openVariable(context.secrets, appEnvId, variable),
  }))
  const found: DatabaseFacts[] = []
  for (const environment of await listEnvironments(context.tx, { accountId })) {
    if (!environment.database || !mayAccess(account, membership, environment.appEnvId)) continue
    const addresses = await addressesOf(context, environment)
    const namedBy = nameIn(addresses, values, lines)
    if (namedBy) found.push(await databaseFacts(context, environment, namedBy))
  }
  return found
}

/** Managed databases that variables take values from; those that the caller may access (M2). */
export async function loadReferredDatabases(
  context: Context,
  { account, membership }: EnvironmentTarget,
  variables: readonly StoredVariable[],
): Promise<DatabaseFacts[]> {
  if (membership === null) return []
  const referred = new Map(variables.flatMap(({ name, from }) => (from ? [[from.appEnvId, name]] : [])))
  const found: DatabaseFacts[] = []
  for (const [appEnvId, name] of referred) {
    const source = mayAccess(account, membership, appEnvId)
      ? await findEnvironment(context.tx, { appEnvId })
      : null
    if (!source?.database) continue
    const namedBy = { source: 'setting' as const, at: null, text: `${name} takes its value from it` }
    found.push(await databaseFacts(context, source, namedBy))
  }
  return found
}

async function databaseFacts(
  { tx }: Context,
  { appEnvId, status }: Environment,
  namedBy: DatabaseFacts['namedBy'],
): Promise<DatabaseFacts> {
  const pods = await listLivePods(tx, appEnvId)
  const ready = status !== 'STOPPED' && pods.some((pod) => pod.ready)
  return { appEnvId, status, ready, namedBy }
}

async function addressesOf({ tx, installation }: Context, environment: Environment): Promise<string[]> {
  const stored = await findApp(tx, environment.appId)
  if (!stored) return []
  return installation.hosts(environment, stored.app).flatMap(addressOf)
}

/** `host:port`. Names of one host differ (127.0.0.1, localhost), so on loopback only the port is compared. */
function addressOf({ host, url }: Host): string[] {
  const port = /:(\d+)(?:[/?]|$)/.exec(url.slice(url.indexOf('://') + 3).replace(/^[^@/]*@/, ''))?.[1]
  if (port === undefined) return []
  return host === '127.0.0.1' ? [`127.0.0.1:${port}`, `localhost:${port}`] : [`${host}:${port}`]
}

function nameIn(
  addresses: readonly string[],
  values: readonly { name: string; value: string }[],
  lines: readonly LogLine[],
): DatabaseFacts['namedBy'] | null {
  const variable = values.find(({ value }) => addresses.some((address) => holds(value, address)))
  if (variable) return { source: 'setting', at: null, text: `${variable.name} holds its address` }
  const line = lines.find(({ message }) => addresses.some((address) => holds(message, address)))
  return line ? { source: 'log', at: line.timestamp, text: 'the log names its address' } : null
}

/** Not as a part of a longer name or number. */
function holds(text: string, address: string): boolean {
  const at = text.indexOf(address)
  if (at < 0) return false
  return !/[\w.-]/.test(text[at - 1] ?? ' ') && !/\d/.test(text[at + address.length] ?? ' ')
}
