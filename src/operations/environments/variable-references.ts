import { listed } from '../../amounts.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { databaseFields } from '../../domain/databases/fields.ts'
import type { Environment, StoredVariable, VariableReference } from '../../domain/environments/environment.ts'
import { sourcesOf, type WantedVariable } from '../../domain/environments/variables.ts'
import { AppError } from '../../errors.ts'
import { Pacer } from '../../pacer.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listDependentIds, saveSources } from '../../store/repositories/variable-references.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { notFound, requireAccess, requireSecretsAccess } from '../core/authorize.ts'
import type { Context } from '../core/handler.ts'
import { type FindSource, lookUp, refuseCycles, sourceReader } from './reference-sources.ts'
import { refresh } from './refresh-references.ts'
import { settingsInForce } from './responses.ts'
import { type ClearVariable, sealVariables } from './seal-variables.ts'

/** The environment whose variables are written. */
type Place = Pick<Environment, 'appEnvId' | 'accountId' | 'region'>
type Owners = Pick<AccountTarget, 'account'> & { membership: AccountTarget['membership'] | null }

/** Resolves references, then seals secrets (E2). The caller needs access to each source, as for reading it (M2, A3). */
export async function storeVariables(
  context: Context,
  owners: Owners,
  place: Place,
  stored: readonly StoredVariable[],
  wanted: readonly WantedVariable[],
): Promise<StoredVariable[]> {
  const find = sourceReader(context.tx)
  const known = new Map(stored.map((variable) => [variable.name, variable]))
  const pacer = new Pacer()
  const clear: ClearVariable[] = []
  for (const { value, ...variable } of wanted) {
    if ('source' in value) {
      const before = known.get(variable.name)
      const one = await resolved(context, find, owners, place, before, { ...variable, ...value })
      clear.push(one)
      await pacer.after('clear' in one.value ? one.value.clear.length : 0)
    } else clear.push({ ...variable, value })
  }
  return sealVariables(context.secrets, place.appEnvId, stored, clear)
}

async function resolved(
  context: Context,
  find: FindSource,
  { account, membership }: Owners,
  place: Place,
  known: StoredVariable | undefined,
  {
    source: { envName, field },
    ...variable
  }: Omit<WantedVariable, 'value'> & { source: { envName: string; field: string } },
): Promise<ClearVariable> {
  const source = await find({ envName })
  if (!membership || source?.accountId !== place.accountId) throw noSuchSource()
  requireAccess({ account, membership }, source.appEnvId)
  const from = { appEnvId: source.appEnvId, field }
  // A read that is written back has no effect, so it does not need admin.
  if (known?.from && isSame(known.from, from) && known.isSecret === variable.isSecret)
    return { ...variable, value: { keep: known.value }, from }
  const found = await lookUp(context, find, place, from)
  if (!found) throw noSuchField(source)
  if (found.isSecret) {
    requireSecretReference(context, membership)
    if (!variable.isSecret) throw staysSecret()
  }
  return { ...variable, value: { clear: found.value ?? '' }, from }
}

/**
 * After a change of `draft`: keeps the list of its sources. A reference that an undo or a discard brings back takes the
 * same permissions as a new one, and is secret if its source has become secret since.
 */
export async function followReferences(
  context: Context,
  owners: Owners,
  before: Environment | null,
  draft: Environment,
): Promise<void> {
  const known = new Map(before?.saved.envVars.map((variable) => [variable.name, variable]))
  const references = draft.saved.envVars.filter(({ from }) => from)
  const added = references.filter(({ name, from }) => !isSame(known.get(name)?.from, from!))
  const find = sourceReader(context.tx, draft)
  for (const variable of references) {
    const isShownAgain = added.includes(variable) || known.get(variable.name)?.isSecret
    if (isShownAgain && !variable.isSecret) await refresh(context, find, draft, variable)
  }
  if (added.length > 0) {
    await requireSources(context, find, owners, before, draft, added)
    await refuseCycles(find, draft)
  }
  const sources = sourcesOf(draft.saved)
  if (sources.join() !== (before ? sourcesOf(before.saved) : []).join())
    await saveSources(context.tx, draft.appEnvId, sources)
  if (before) await refuseMissingFields(context, owners, before, draft)
}

/** The permissions for references of `draft` that neither the saved settings nor those in force of `before` have. */
export async function requireReferences(
  context: Context,
  owners: Owners,
  before: Environment,
  draft: Environment,
): Promise<void> {
  const known = new Map(before.saved.envVars.map((variable) => [variable.name, variable]))
  const added = draft.saved.envVars.filter(({ name, from }) => from && !isSame(known.get(name)?.from, from))
  await requireSources(context, sourceReader(context.tx, draft), owners, before, draft, added)
}

async function requireSources(
  context: Context,
  find: FindSource,
  owners: Owners,
  before: Environment | null,
  draft: Environment,
  added: readonly StoredVariable[],
): Promise<void> {
  const pacer = new Pacer()
  const inForce = before ? (await settingsInForce(context, before)).envVars : []
  for (const { name, from, value } of added) {
    // The running version may refer to a source that was deleted since: discarding pending changes returns to it.
    const runs = inForce.some((one) => one.name === name && one.value === value && isSame(one.from, from!))
    if (!runs || (await find(from!))) await requireSource(context, find, owners, draft, from!)
    await pacer.after(value.length)
  }
}

async function requireSource(
  context: Context,
  find: FindSource,
  { account, membership }: Owners,
  draft: Environment,
  from: VariableReference,
): Promise<void> {
  if (!membership || !(await find(from))) throw notFound('environment')
  requireAccess({ account, membership }, from.appEnvId)
  if ((await lookUp(context, find, draft, from))?.isSecret) requireSecretReference(context, membership)
}

function requireSecretReference({ caller }: Context, membership: AccountTarget['membership']): void {
  requireSecretsAccess(caller, membership, 'Admin permission required to refer to a secret', 'X1')
}

function isSame(one: VariableReference | undefined, other: VariableReference): boolean {
  return one?.appEnvId === other.appEnvId && one.field === other.field
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

/** Refuses to delete a source that other environments refer to, and names those that the caller may see (M2). */
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
    details: `Variables of ${listed(names)} take their values from it. Set or unset these variables first (update-app-env-variables).`,
  })
}

/** The same for an unknown name and for one of another account. */
function noSuchSource(): AppError {
  return new AppError('not-found', 'App environment not found', {
    details: 'from.envName names no environment of this account; list-app-envs shows those you can reach.',
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
