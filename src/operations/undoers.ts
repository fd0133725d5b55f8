import { isDeepStrictEqual } from 'node:util'
import { checkAccountSettings } from '../domain/account-settings.ts'
import type { StoredAlert } from '../domain/alert.ts'
import type { StoredContactPoint } from '../domain/contact-point.ts'
import type { Environment } from '../domain/environment.ts'
import { checkFunctionConfig } from '../domain/function-config.ts'
import type { Same } from '../domain/undo.ts'
import { AppError } from '../errors.ts'
import {
  type Account,
  findAccount,
  findMembershipById,
  type Membership,
  updateAccount,
  updateMembership,
} from '../store/accounts.ts'
import { findAlert } from '../store/alerts.ts'
import { findApp } from '../store/apps.ts'
import { findContactPoint, saveContactPoint } from '../store/contact-points.ts'
import { findEnvironment } from '../store/environments.ts'
import type { AccountTarget } from './access-targets.ts'
import { noteActivity } from './begin-rollout.ts'
import { saveAlertChange } from './change-alert.ts'
import { saveChange } from './change-environment.ts'
import { ownContactPoints } from './contact-point-answers.ts'
import type { Change, Context } from './handler.ts'

export type UndoObject = Record<string, unknown>

/** How changes of one type of object are put back. A new type is one entry in `undoers`. */
export interface Undoer {
  /** The object as it is now; null when it is gone. */
  load(context: Context, objectId: string): Promise<UndoObject | null>
  /** The environment whose access the caller needs as well (M2). */
  appEnvIdOf?(object: UndoObject): string
  /** Path prefixes that can be put back; anything else that an entry changed makes it irreversible. */
  fields: readonly string[]
  /** When two values count as equal; deep equality when left out. */
  same?(context: Context, object: UndoObject): Same
  /** Saves the draft as the next revision. */
  save(
    context: Context,
    target: AccountTarget,
    current: UndoObject,
    draft: UndoObject,
  ): Promise<{ change: Change; effect: string; wake?: string[] }>
}

const environments: Undoer = {
  load: async ({ tx }, appEnvId) => asObject(await findEnvironment(tx, { appEnvId })),
  appEnvIdOf: (object) => (object as unknown as Environment).appEnvId,
  // `applied` comes along where a change counted at once: containers, function and job settings.
  fields: [
    'name',
    'slug',
    'saved',
    'autoscaling',
    'mountPath',
    'applied.containers',
    'applied.functionConfig',
    'applied.jobConfig',
  ],
  same: ({ secrets }, object) => {
    const { appEnvId } = object as unknown as Environment
    return (path, one, other) => {
      const clear = (value: unknown) =>
        openVariable(value, path, (text, name) => secrets.open(text, `${appEnvId}/${name}`))
      return isDeepStrictEqual(clear(one), clear(other))
    }
  },
  async save(context, target, current, draft) {
    const environment = current as unknown as Environment
    const stored = await findApp(context.tx, environment.appId)
    if (!stored) throw new Error('an environment without its app')
    const next = draft as unknown as Environment
    const { account, membership } = target
    // Limits may be tighter now than they were.
    if (stored.app.isFunction) checkFunctionConfig(next.saved.functionConfig, account.settings)
    const change = await saveChange(context, { environment, app: stored.app, account, membership }, next)
    await noteActivity(context, next.appEnvId, {
      activity: 'UNDO',
      status: 'DONE',
      version: next.currentVersion,
    })
    const effect =
      'Settings that need a deployment are pending until apply-app-env-changes; the others count at once.'
    return { change, effect, wake: [next.appEnvId] }
  },
}

const accounts: Undoer = {
  load: async ({ tx }, accountId) => asObject(await findAccount(tx, accountId)),
  fields: ['name', 'settings'],
  async save({ tx }, _target, current, draft) {
    const next = draft as unknown as Account
    next.revision = (current as unknown as Account).revision + 1
    checkAccountSettings(next.settings)
    await updateAccount(tx, next)
    const change = changeOf('account', next.accountId, next.accountId, current, draft)
    return { change, effect: 'Takes effect at once.' }
  },
}

const memberships: Undoer = {
  load: async ({ tx }, membershipId) => asObject(await findMembershipById(tx, membershipId)),
  fields: ['allowedAppEnvIds'],
  async save({ tx }, _target, current, draft) {
    const next = draft as unknown as Membership
    next.revision = (current as unknown as Membership).revision + 1
    await updateMembership(tx, next)
    const change = changeOf('membership', next.membershipId, next.accountId, current, draft)
    const ids = next.allowedAppEnvIds.length
    return {
      change,
      effect: ids === 0 ? 'The member has FULL access again.' : `The member may reach ${ids} environment(s).`,
    }
  },
}

const contactPoints: Undoer = {
  load: async ({ tx }, contactPointId) => asObject(await findContactPoint(tx, contactPointId)),
  fields: ['name', 'config'],
  async save({ tx, now }, _target, current, draft) {
    const next = draft as unknown as StoredContactPoint
    const { url, password } = (current as unknown as StoredContactPoint).config
    if (next.config.url !== url && password !== undefined && next.config.password === password) {
      throw new AppError('invalid', 'The password is needed again', {
        details:
          'This undo would send the present password to another address. Use update-contact-point with both.',
      })
    }
    next.revision = (current as unknown as StoredContactPoint).revision + 1
    next.updatedAt = now
    await saveContactPoint(tx, next)
    const change = changeOf('contact-point', next.contactPointId, next.accountId, current, draft)
    return { change, effect: 'The next notice goes out as before.' }
  },
}

const alerts: Undoer = {
  load: async ({ tx }, alertId) => asObject(await findAlert(tx, alertId)),
  appEnvIdOf: (object) => (object as unknown as StoredAlert).appEnvId,
  fields: [
    'name',
    'description',
    'metric',
    'operator',
    'threshold',
    'duration',
    'aggregation',
    'queryRange',
    'contactPointIds',
    'enabled',
  ],
  async save(context, _target, current, draft) {
    const next = draft as unknown as StoredAlert
    // A contact point may have been deleted since.
    await ownContactPoints(context, next.accountId, next.contactPointIds)
    const { change } = await saveAlertChange(context, current as unknown as StoredAlert, next)
    return { change, effect: 'The next evaluation uses what was put back.' }
  },
}

/** By `objectType` of the journal. What is not here is irreversible. */
export const undoers: Readonly<Record<string, Undoer>> = {
  'app-env': environments,
  account: accounts,
  membership: memberships,
  'contact-point': contactPoints,
  alert: alerts,
}

/** Describes a saved undo for the journal. */
export function changeOf(
  objectType: Change['objectType'],
  objectId: string,
  accountId: string,
  before: unknown,
  after: unknown,
): Change {
  return { objectType, objectId, accountId, before, after }
}

/** Secrets compare by what they are: sealing the same value twice gives other bytes. */
function openVariable(
  value: unknown,
  path: readonly string[],
  open: (sealed: string, name: string) => string,
): unknown {
  const [, field, name] = path
  if (field !== 'envVars' || name === undefined) return value
  if (typeof value === 'string')
    return path.at(-1) === 'value' && value.startsWith('v1.key_') ? open(value, name) : value
  const variable = value as { isSecret?: boolean; value?: string } | undefined
  if (variable?.isSecret !== true || variable.value === undefined) return value
  return { ...variable, value: open(variable.value, name) }
}

function asObject(value: object | null): UndoObject | null {
  return value as UndoObject | null
}
