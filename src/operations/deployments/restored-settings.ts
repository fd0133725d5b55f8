import { deepCopy } from '../../domain/deep-copy.ts'
import type { Environment, Rollout, Settings, StoredVariable } from '../../domain/environments/environment.ts'
import { changedSettings, changedVariableNames } from '../../domain/environments/version-changes.ts'
import { keepPending, settingsOfVersion } from '../../domain/environments/version-settings.ts'
import { checkVolumeContainers } from '../../domain/environments/volume.ts'
import { checkFunctionConfig } from '../../domain/functions/config.ts'
import { openVariable } from '../../store/secrets/opened.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context } from '../core/handler.ts'
import { checkAccountSize, environmentSize } from '../environments/change-environment.ts'
import { lookUp, sourceReader } from '../environments/reference-sources.ts'
import { resolveReferences } from '../environments/refresh-references.ts'
import { settingsInForce } from '../environments/responses.ts'
import { requireReferences } from '../environments/variable-references.ts'

interface Restored {
  settings: Settings
  /** Names of secrets whose values changed since the version ran: set back, or kept with `keepSecrets`. */
  changedSecrets: string[]
}

/**
 * The settings that a version ran with, for a rollback: references resolve again, and what is secret now stays secret.
 * Changes the saved settings of `draft`, except those that are pending.
 */
export async function restoreSettings(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
  rollout: Rollout,
  keepSecrets: boolean,
): Promise<Restored> {
  const { environment, app, account } = target
  const inForce = await settingsInForce(context, environment)
  const ran = rollout.rolloutId === environment.currentRolloutId ? environment.applied : rollout.settings
  const settings = settingsOfVersion(ran, inForce)
  await dropLostReferences(context, draft, settings)
  const changedSecrets = restoreSecrets(context, draft, settings, inForce, keepSecrets)
  const restored = { ...draft, saved: settings }
  await requireReferences(context, target, environment, restored)
  await resolveReferences(context, draft, settings.envVars)
  checkVolumeContainers(restored)
  // Limits may be tighter now than they were.
  if (app.isFunction) checkFunctionConfig(settings.functionConfig, account.settings)
  const size = environmentSize(restored, app, account)
  if (size > environmentSize({ ...environment, saved: inForce }, app, account))
    await checkAccountSize(context, target, draft.appEnvId, size)
  draft.saved = keepPending(draft.saved, inForce, settings, sameVariable(context, draft))
  return { settings, changedSecrets }
}

/** A variable whose source was deleted since keeps the value that it had. */
async function dropLostReferences(
  context: Context,
  draft: Environment,
  { envVars }: Settings,
): Promise<void> {
  const find = sourceReader(context.tx)
  for (const variable of envVars) {
    if (variable.from && !(await lookUp(context, find, draft, variable.from))) delete variable.from
  }
}

/** What the new settings in force change: variables by name, other settings by path. */
export function changesInForce(context: Context, draft: Environment, before: Settings, after: Settings) {
  const open = (variable: StoredVariable) => openVariable(context.secrets, draft.appEnvId, variable)
  return {
    variables: changedVariableNames(before.envVars, after.envVars, open),
    changedSettings: changedSettings(before, after).map(({ path }) => path),
  }
}

function sameVariable({ secrets }: Context, { appEnvId }: Environment) {
  const open = (variable: StoredVariable) => openVariable(secrets, appEnvId, variable)
  return (one: StoredVariable, other: StoredVariable): boolean =>
    one.type === other.type &&
    one.isSecret === other.isSecret &&
    one.from?.appEnvId === other.from?.appEnvId &&
    one.from?.field === other.from?.field &&
    (one.value === other.value || open(one) === open(other))
}

/** Changes `settings`. References are not among the changed secrets: they have the value of their source. */
function restoreSecrets(
  { secrets }: Context,
  { appEnvId, saved }: Environment,
  settings: Settings,
  inForce: Settings,
  keepSecrets: boolean,
): string[] {
  const [present, latest] = [inForce, saved].map(
    ({ envVars }) => new Map(envVars.map((one) => [one.name, one])),
  )
  const changed: string[] = []
  settings.envVars = settings.envVars.map((variable) => {
    const { name, value } = variable
    const now = present!.get(name)
    const isSecret = variable.isSecret || now?.isSecret === true || latest!.get(name)?.isSecret === true
    if (!isSecret || variable.from) return variable
    const sealed = variable.isSecret ? value : secrets.seal(value, `${appEnvId}/${name}`)
    const restored = { ...variable, isSecret, value: sealed }
    const clear = (one: StoredVariable) => openVariable(secrets, appEnvId, one)
    if (!now || clear(now) === clear(restored)) return restored
    changed.push(name)
    return keepSecrets ? deepCopy(now) : restored
  })
  return changed
}
