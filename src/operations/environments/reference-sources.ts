import type { App } from '../../contract/apps.ts'
import {
  type databaseFields,
  databaseFieldValue,
  isDatabaseField,
  isSecretField,
} from '../../domain/databases/fields.ts'
import type { Environment, VariableReference } from '../../domain/environments/environment.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { openDatabaseSecrets, openVariable } from '../../store/secrets/opened.ts'
import type { Context } from '../core/handler.ts'

interface Found {
  /** Null for the address of a database that has none yet. */
  value: string | null
  isSecret: boolean
}

export type FindSource = (
  ref: Pick<VariableReference, 'appEnvId'> | { envName: string },
) => Promise<Environment | null>

/** Reads each environment once: one has up to a megabyte, and hundreds of references may name it. */
export function sourceReader(tx: Tx, ...known: readonly Environment[]): FindSource {
  const found = new Map(known.map((one) => [one.appEnvId, one as Environment | null]))
  return async (ref) => {
    const key = 'appEnvId' in ref ? ref.appEnvId : `name ${ref.envName}`
    if (!found.has(key)) found.set(key, await findEnvironment(tx, ref))
    return found.get(key)!
  }
}

/** The current target of a reference; null if its source or field does not exist. */
export async function lookUp(
  context: Context,
  find: FindSource,
  place: Pick<Environment, 'region'>,
  { appEnvId, field }: VariableReference,
): Promise<Found | null> {
  const source = await find({ appEnvId })
  if (!source) return null
  if (source.database && isDatabaseField(field)) {
    const stored = await findApp(context.tx, source.appId)
    if (!stored) return null
    return { value: databaseValue(context, source, stored.app, field, place), isSecret: isSecretField(field) }
  }
  const variable = source.saved.envVars.find(({ name }) => name === field)
  return variable
    ? { value: openVariable(context.secrets, source.appEnvId, variable), isSecret: variable.isSecret }
    : null
}

function databaseValue(
  context: Context,
  source: Environment,
  app: App,
  field: (typeof databaseFields)[number],
  place: Pick<Environment, 'region'>,
): string | null {
  const access = source.database!
  const secrets = openDatabaseSecrets(context.secrets, source.appEnvId, access.secrets)
  const hosts = context.installation.hosts(source, app, secrets)
  const database = { access, secrets, hosts, preset: app.dockerPreset }
  return databaseFieldValue(field, database, source.region === place.region)
}

/** Looks at each variable on the way once, so that the work grows with their number only. */
export async function refuseCycles(find: FindSource, { appEnvId, saved }: Environment): Promise<void> {
  const ending = new Set<string>()
  for (const { name, from } of saved.envVars) {
    const path = new Set<string>()
    for (let at = from && { appEnvId, field: name }; at; at = await next(find, at)) {
      const key = `${at.appEnvId}/${at.field}`
      if (ending.has(key)) break
      if (path.has(key)) throw refersToItself()
      path.add(key)
    }
    for (const key of path) ending.add(key)
  }
}

async function next(
  find: FindSource,
  { appEnvId, field }: VariableReference,
): Promise<VariableReference | undefined> {
  const source = await find({ appEnvId })
  return source?.saved.envVars.find(({ name }) => name === field)?.from
}

function refersToItself(): AppError {
  return new AppError('invalid', 'A variable cannot refer to itself', {
    details: 'The reference leads back to this variable, directly or through other references.',
  })
}
