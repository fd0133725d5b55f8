import { mayAccess } from '../../domain/access/environment-access.ts'
import type { Environment, StoredVariable } from '../../domain/environments/environment.ts'
import { AppError } from '../../errors.ts'
import { Pacer } from '../../pacer.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import { listDependentIds } from '../../store/repositories/variable-references.ts'
import { openVariable } from '../../store/secrets/opened.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Change, Context } from '../core/handler.ts'
import { refreshedChange } from '../core/recorded.ts'
import { noteAuthor } from './note-author.ts'
import { type FindSource, lookUp, sourceReader } from './reference-sources.ts'
import { checkSavedVariables } from './seal-variables.ts'

type Owners = Pick<EnvironmentTarget, 'account' | 'membership'>

/**
 * Updates a reference to the present value of its source. A value that became secret at its source becomes secret
 * here (A3).
 */
export async function refresh(
  context: Context,
  find: FindSource,
  draft: Environment,
  variable: StoredVariable,
): Promise<'same' | 'changed' | 'waiting'> {
  const found = variable.from && (await lookUp(context, find, draft, variable.from))
  // If the value cannot be found, the stored one stays.
  if (!found) return 'same'
  if (found.value === null) return 'waiting'
  const hides = found.isSecret && !variable.isSecret
  if (!hides && found.value === openVariable(context.secrets, draft.appEnvId, variable)) return 'same'
  if (hides) variable.isSecret = true
  const boundTo = `${draft.appEnvId}/${variable.name}`
  variable.value = variable.isSecret ? context.secrets.seal(found.value, boundTo) : found.value
  return 'changed'
}

/** Resolves the references of a deployment again; refused while a database has no address. */
export async function resolveReferences(
  context: Context,
  draft: Environment,
  variables: readonly StoredVariable[] = draft.saved.envVars,
): Promise<void> {
  const find = sourceReader(context.tx)
  const pacer = new Pacer()
  let isWaiting = false
  for (const variable of variables) {
    if ((await refresh(context, find, draft, variable)) === 'waiting') isWaiting = true
    if (variable.from) await pacer.after(3 * variable.value.length)
  }
  if (!isWaiting) return
  throw new AppError('conflict', 'A referenced database has no address yet', {
    details:
      'A variable takes its value from a database that has not started. Wait until it runs (get-app-env-status), then deploy again.',
  })
}

/**
 * Gives the new values of `source` to all that refers to it, directly or through others, pending until the
 * next deployment; resolves to the changes. Each environment is read and written once, and each variable
 * resolved once, after its source.
 */
export async function refreshDependents(
  context: Context,
  owners: Owners,
  source: Environment,
): Promise<Change[]> {
  const drafts = await dependentsOf(context, source)
  if (drafts.size === 0) return []
  const find = sourceReader(context.tx, source, ...drafts.values())
  const resolved = new Set<StoredVariable>()
  const pacer = new Pacer()
  const changed = new Map<Environment, string[]>()
  const resolve = async (draft: Environment, variable: StoredVariable): Promise<void> => {
    if (!variable.from || resolved.has(variable)) return
    resolved.add(variable)
    const { appEnvId, field } = variable.from
    const between = drafts.get(appEnvId)
    const earlier = between?.saved.envVars.find(({ name }) => name === field)
    if (between && earlier) await resolve(between, earlier)
    if ((await refresh(context, find, draft, variable)) === 'changed')
      changed.set(draft, [...(changed.get(draft) ?? []), variable.name])
    await pacer.after(3 * variable.value.length)
  }
  for (const draft of drafts.values())
    for (const variable of draft.saved.envVars) await resolve(draft, variable)
  const changes: Change[] = []
  for (const [draft, variables] of changed) {
    await saveRefreshed(context, owners, draft)
    changes.push(refreshedChange(draft, source, variables))
  }
  return changes
}

async function saveRefreshed(
  context: Context,
  { account, membership }: Owners,
  draft: Environment,
): Promise<void> {
  const isVisible = membership !== null && mayAccess(account, membership, draft.appEnvId)
  const dependent = { shownName: isVisible ? draft.cliEnvName : null }
  const before = await findEnvironment(context.tx, draft)
  checkSavedVariables(before, draft, dependent)
  if (before) await noteAuthor(context, draft, before.saved)
  draft.revision += 1
  draft.updatedAt = context.now
  await saveEnvironment(context.tx, draft)
}

/** The environments that refer to `source`, directly or through others. */
async function dependentsOf(context: Context, source: Environment): Promise<Map<string, Environment>> {
  const drafts = new Map<string, Environment>()
  const ids = await listDependentIds(context.tx, source.appEnvId)
  for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
    if (drafts.has(id)) continue
    const draft = await findEnvironment(context.tx, { appEnvId: id })
    if (!draft) continue
    drafts.set(id, draft)
    ids.push(...(await listDependentIds(context.tx, id)))
  }
  return drafts
}
