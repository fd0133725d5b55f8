import { isDeepStrictEqual } from 'node:util'
import type { Environment, StoredVariable } from '../../domain/environments/environment.ts'
import { checkMove } from '../../domain/environments/move.ts'
import { checkFunctionConfig } from '../../domain/functions/config.ts'
import { findApp } from '../../store/repositories/apps.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'
import { changeWantedSettings } from '../deployments/begin-rollout.ts'
import { saveChange } from './change-environment.ts'
import { changeRegion } from './change-region.ts'
import { noteActivity } from './note-activity.ts'
import { stopEnvironment } from './stop-environment.ts'
import { updateImpact } from './update-impact.ts'

/** `applied` comes along where a change took effect at once; a deployment under way has settings of its own. */
const atOnce = ['containers', 'functionConfig', 'jobConfig', 'healthCheck'] as const

export const undoEnvironment: UndoHandler<Environment> = {
  fields: [
    'name',
    'slug',
    'saved',
    'autoscaling',
    'mountPath',
    'labels',
    'protected',
    ...atOnce.map((field) => `applied.${field}`),
    'region',
  ],
  follows: {
    region: ['changingRegion', 'servedFrom', 'volumeMove', 'status', 'wantedRolloutId', 'deployment'],
  },
  ofOperation: {
    'start-app-env': {
      fields: ['desiredState'],
      follows: { desiredState: ['status', 'wantedRolloutId', 'deployment'] },
    },
  },
  same:
    ({ secrets }, { appEnvId, saved }) =>
    (path, one, other) => {
      const clear = (value: unknown) =>
        openVariable(value, path, saved.envVars, (text, name) => opened(secrets, text, `${appEnvId}/${name}`))
      return isDeepStrictEqual(one, other) || isDeepStrictEqual(clear(one), clear(other))
    },
  async save(context, { account, membership }, environment, draft) {
    const stored = await findApp(context.tx, environment.appId)
    if (!stored) throw new Error('an environment without its app')
    // Limits may be tighter now than they were.
    if (stored.app.isFunction) checkFunctionConfig(draft.saved.functionConfig, account.settings)
    const effects: string[] = []
    const restored = atOnce.filter(
      (field) => !isDeepStrictEqual(draft.applied[field], environment.applied[field]),
    )
    const settings = Object.fromEntries(restored.map((field) => [field, draft.applied[field]]))
    if (restored.length > 0) await changeWantedSettings(context, draft, settings)
    const target = { environment, app: stored.app, account, membership }
    if (draft.desiredState !== environment.desiredState) {
      const { impact, effect } = await stopEnvironment(context, target, draft)
      const change = await saveChange(context, target, draft)
      return { change, impact, effect, wake: [draft.appEnvId] }
    }
    const { region } = draft
    if (!isDeepStrictEqual({ ...draft, region: environment.region }, environment))
      effects.push(
        'Settings that need a deployment are pending until apply-app-env-changes; the others count at once.',
      )
    if (region !== environment.region) {
      draft.region = environment.region
      checkMove(stored.app, environment, region, context.installation.regions())
      effects.push(await changeRegion(context, draft, region))
    }
    const change = await saveChange(context, target, draft)
    await noteActivity(context, draft.appEnvId, {
      activity: 'UNDO',
      status: 'DONE',
      version: draft.currentVersion,
    })
    const impact = await updateImpact(context, target, draft)
    return { change, impact, effect: effects.join(' '), wake: [draft.appEnvId] }
  },
}

/**
 * Secrets compare by their clear value: sealing the same value twice gives other bytes. The variable decides whether a value
 * is sealed, never its text, because a plain value may look like a sealed one. If only one side is sealed, they differ.
 */
function openVariable(
  value: unknown,
  path: readonly string[],
  variables: readonly StoredVariable[],
  open: (sealed: string, name: string) => unknown,
): unknown {
  const [, field, name, leaf] = path
  if (field !== 'envVars' || name === undefined) return value
  if (typeof value === 'string') {
    const isSealed = leaf === 'value' && variables.some((one) => one.name === name && one.isSecret)
    return isSealed ? open(value, name) : value
  }
  const variable = value as { isSecret?: boolean; value?: string } | undefined
  if (variable?.isSecret !== true || variable.value === undefined) return value
  return { ...variable, value: open(variable.value, name) }
}

/** Text that is not sealed, such as a formerly plain value, becomes an object that equals no secret. */
function opened(secrets: SecretBox, text: string, boundTo: string): { secret: string } | { text: string } {
  try {
    return { secret: secrets.open(text, boundTo) }
  } catch {
    return { text }
  }
}
