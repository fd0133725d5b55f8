import type { App } from '../../contract/apps.ts'
import { type DatabaseSecrets, databaseSecretName } from '../../domain/databases/credentials.ts'
import {
  databaseFields,
  databaseFieldValue,
  isDatabaseField,
  isSecretField,
} from '../../domain/databases/fields.ts'
import type { Environment, StoredVariable, VariableReference } from '../../domain/environments/environment.ts'
import type { WantedVariable } from '../../domain/environments/variables.ts'
import { AppError } from '../../errors.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import { listDependentIds, saveSources } from '../../store/repositories/variable-references.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { mayAccess, notFound, requireAccess, requireSecretsAccess } from '../core/authorize.ts'
import type { Context } from '../core/handler.ts'
import { type ClearVariable, checkSavedVariables, sealVariables } from './seal-variables.ts'

/** The environment whose variables are written. */
type Place = Pick<Environment, 'appEnvId' | 'accountId' | 'region'>
type Owners = Pick<AccountTarget, 'account'> & { membership: AccountTarget['membership'] | null }

interface Found {
  /** Null for the address of a database that has none yet. */
  value: string | null
  isSecret: boolean
}

/** Resolves references, then seals secrets (E2). The caller needs access to each source, as for reading it (M2, A3). */
export async function storeVariables(
  context: Context,
  owners: Owners,
  place: Place,
  stored: readonly StoredVariable[],
  wanted: readonly WantedVariable[],
): Promise<StoredVariable[]> {
  const clear: ClearVariable[] = []
  for (const { value, ...variable } of wanted) {
    clear.push(
      'source' in value
        ? await resolved(context, owners, place, { ...variable, ...value })
        : { ...variable, value },
    )
  }
  return sealVariables(context.secrets, place.appEnvId, stored, clear)
}

async function resolved(
  context: Context,
  { account, membership }: Owners,
  place: Place,
  {
    source: { envName, field },
    ...variable
  }: Omit<WantedVariable, 'value'> & { source: { envName: string; field: string } },
): Promise<ClearVariable> {
  const source = await findEnvironment(context.tx, { envName })
  if (!membership || source?.accountId !== place.accountId) throw notFound('environment')
  requireAccess({ account, membership }, source.appEnvId)
  const from = { appEnvId: source.appEnvId, field }
  const found = await lookUp(context, place, from)
  if (!found) throw noSuchField(source)
  if (found.isSecret) {
    requireSecretsAccess(context.caller, membership, 'Admin permission required to refer to a secret', 'X1')
    if (!variable.isSecret) throw staysSecret()
  }
  await refuseCycle(context, place, variable.name, from)
  return { ...variable, value: { clear: found.value ?? '' }, from }
}

/** What a reference refers to now; null if its source or field does not exist. */
async function lookUp(
  context: Context,
  place: Place,
  { appEnvId, field }: VariableReference,
): Promise<Found | null> {
  const source = await findEnvironment(context.tx, { appEnvId })
  if (!source) return null
  if (source.database && isDatabaseField(field)) {
    const stored = await findApp(context.tx, source.appId)
    if (!stored) return null
    return { value: databaseValue(context, source, stored.app, field, place), isSecret: isSecretField(field) }
  }
  const variable = source.saved.envVars.find(({ name }) => name === field)
  return variable ? { value: clearOf(context, source.appEnvId, variable), isSecret: variable.isSecret } : null
}

function databaseValue(
  context: Context,
  source: Environment,
  app: App,
  field: (typeof databaseFields)[number],
  place: Place,
): string | null {
  const access = source.database!
  const secrets: DatabaseSecrets = JSON.parse(
    context.secrets.open(access.secrets, databaseSecretName(source.appEnvId)),
  )
  const hosts = context.installation.hosts(source, app, secrets)
  const database = { access, secrets, hosts, preset: app.dockerPreset }
  return databaseFieldValue(field, database, source.region === place.region)
}

function clearOf(context: Context, appEnvId: string, { name, value, isSecret }: StoredVariable): string {
  return isSecret ? context.secrets.open(value, `${appEnvId}/${name}`) : value
}

async function refuseCycle(
  context: Context,
  { appEnvId }: Place,
  name: string,
  first: VariableReference,
): Promise<void> {
  for (let at: VariableReference | undefined = first; at; ) {
    if (at.appEnvId === appEnvId && at.field === name) {
      throw new AppError('invalid', 'A variable cannot refer to itself', {
        details: 'The reference leads back to this variable, directly or through other references.',
      })
    }
    const reference: VariableReference = at
    const source = await findEnvironment(context.tx, { appEnvId: reference.appEnvId })
    at = source?.saved.envVars.find((variable) => variable.name === reference.field)?.from
  }
}

/** Takes the present values into the references of `draft`. A value that cannot be found stays as it was. */
async function refreshReferences(
  context: Context,
  draft: Environment,
): Promise<{ isChanged: boolean; isWaiting: boolean }> {
  const outcome = { isChanged: false, isWaiting: false }
  for (const variable of draft.saved.envVars) {
    const found = variable.from && (await lookUp(context, draft, variable.from))
    if (!found) continue
    if (found.value === null) outcome.isWaiting = true
    else if (found.value !== clearOf(context, draft.appEnvId, variable)) {
      const boundTo = `${draft.appEnvId}/${variable.name}`
      variable.value = variable.isSecret ? context.secrets.seal(found.value, boundTo) : found.value
      outcome.isChanged = true
    }
  }
  return outcome
}

/** Resolves the references of a deployment again; refused while a database has no address. */
export async function resolveReferences(context: Context, draft: Environment): Promise<void> {
  const { isWaiting } = await refreshReferences(context, draft)
  if (!isWaiting) return
  throw new AppError('conflict', 'A referenced database has no address yet', {
    details:
      'A variable takes its value from a database that has not started. Wait until it runs (get-app-env-status), then deploy again.',
  })
}

/**
 * After a change of `draft`: keeps the list of its sources, and gives its new values to the environments that refer to
 * it, where they are pending until the next deployment.
 */
export async function followReferences(
  context: Context,
  owners: Owners,
  before: Environment | null,
  draft: Environment,
): Promise<void> {
  const sources = sourcesOf(draft)
  if (sources.join() !== (before ? sourcesOf(before) : []).join()) {
    for (const appEnvId of sources)
      if (!(await findEnvironment(context.tx, { appEnvId }))) throw notFound('environment')
    await saveSources(context.tx, draft.appEnvId, sources)
  }
  if (before) await refuseMissingFields(context, owners, before, draft)
}

/** Run once `draft` is stored: its values are read from the store. */
export async function refreshDependents(context: Context, sourceId: string): Promise<void> {
  for (const appEnvId of await listDependentIds(context.tx, sourceId)) {
    const before = await findEnvironment(context.tx, { appEnvId })
    if (!before) continue
    const dependent = structuredClone(before)
    if (!(await refreshReferences(context, dependent)).isChanged) continue
    checkSavedVariables(before, dependent)
    await saveEnvironment(context.tx, dependent)
    await refreshDependents(context, appEnvId)
  }
}

function sourcesOf({ saved }: Environment): string[] {
  return [...new Set(saved.envVars.flatMap(({ from }) => from?.appEnvId ?? []))].sort()
}

async function refuseMissingFields(
  context: Context,
  owners: Owners,
  before: Environment,
  draft: Environment,
): Promise<void> {
  const kept = new Set(draft.saved.envVars.map(({ name }) => name))
  const removed = new Set(before.saved.envVars.map(({ name }) => name).filter((name) => !kept.has(name)))
  if (removed.size === 0) return
  const uses = ({ appEnvId, field }: VariableReference) => appEnvId === draft.appEnvId && removed.has(field)
  await refuseReferred(context, owners, draft.appEnvId, 'A removed variable is referred to', uses)
}

/** Refuses to delete what other environments refer to, and names those that the caller may see (M2). */
export async function refuseReferred(
  context: Context,
  { account, membership }: Owners,
  sourceId: string,
  message: string,
  uses: (from: VariableReference) => boolean = ({ appEnvId }) => appEnvId === sourceId,
): Promise<void> {
  const users: Environment[] = []
  for (const appEnvId of await listDependentIds(context.tx, sourceId)) {
    const dependent = appEnvId === sourceId ? null : await findEnvironment(context.tx, { appEnvId })
    if (dependent?.saved.envVars.some(({ from }) => from && uses(from))) users.push(dependent)
  }
  if (users.length === 0) return
  const shown = users.filter(({ appEnvId }) => membership && mayAccess(account, membership, appEnvId))
  const hidden = users.length - shown.length
  const names = [
    ...shown.map(({ cliEnvName }) => cliEnvName),
    ...(hidden > 0 ? [`${hidden} that you cannot see`] : []),
  ]
  throw new AppError('conflict', message, {
    details: `Variables of ${names.join(', ')} take their values from it. Set or unset these variables first (update-app-env-variables).`,
  })
}

function noSuchField({ database }: Environment): AppError {
  return new AppError('invalid', 'The environment in from.envName has no such field', {
    details: database
      ? `from.field of a database is one of ${databaseFields.join(', ')}, or a variable of it.`
      : 'from.field must be the name of a variable of that environment; get-app-env lists them.',
  })
}

function staysSecret(): AppError {
  return new AppError('invalid', 'A reference to a secret is secret', {
    details: 'Omit isSecret, or refer to a field that is not secret: host, port, user or name of a database.',
  })
}
