import { isRead, type Policy } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { Membership } from '../store/accounts.ts'
import { findEnvironment } from '../store/environments.ts'
import { findJobRun } from '../store/job-runs.ts'
import type { Asking, Target } from './access-targets.ts'
import type { Caller } from './caller.ts'
import {
  environmentRef,
  loadAround,
  notFound,
  reachAccount,
  reachAlert,
  reachApp,
  reachBackup,
  reachContactPoint,
  reachEnvironment,
  reachJournalEntry,
  reachMember,
  text,
} from './reach.ts'

/**
 * The one authorisation function (goals.md): every row's policy comes here, from every surface. An object of an
 * account the caller is not in is answered as an unknown one (contract.md 1).
 */
export async function authorise(asking: Asking): Promise<Target> {
  const { caller, operation, input } = asking
  const { policy } = operation
  // First of all, before anything is looked up: so it says nothing about what there is.
  if (caller.token.readOnly && !isRead(operation)) throw readOnlyToken()
  if (caller.kind === 'environment') return authoriseEnvironmentToken(asking, caller, policy)
  switch (policy.on) {
    case 'installation':
      return {}
    case 'account': {
      const target = await reachAccount(asking, text(input.accountId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'member': {
      const target = await reachAccount(asking, text(input.accountId))
      requirePermission(target.membership, policy.needs)
      return { ...target, member: await reachMember(asking, target.account) }
    }
    case 'backup': {
      const target = await reachBackup(asking, text(input.backupId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'journal-entry': {
      const target = await reachJournalEntry(asking)
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'app':
      return reachApp(asking, text(input.appId))
    case 'account-or-app':
      return reachAccountOrApp(asking)
    case 'new-environment':
      return reachAppOfAccount(asking)
    case 'contact-point': {
      const target = await reachContactPoint(asking, text(input.contactPointId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'alert': {
      const target = await reachAlert(asking, text(input.alertId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'job-run':
      return reachJobRun(asking)
    case 'environment': {
      const target = await reachEnvironment(asking, input)
      requirePermission(target.membership, policy.needs)
      return target
    }
  }
}

async function reachAccountOrApp(asking: Asking): Promise<Target> {
  const { appId, accountId } = asking.input
  if (appId !== undefined) return reachApp(asking, text(appId))
  if (accountId === undefined) {
    throw new AppError('invalid', 'accountId or appId is required', { details: 'Send one of the two.' })
  }
  return { ...(await reachAccount(asking, text(accountId))), app: null }
}

async function reachAppOfAccount(asking: Asking): Promise<Target> {
  const target = await reachApp(asking, text(asking.input.appId))
  if (target.account.accountId !== asking.input.accountId) throw notFound('App')
  return target
}

async function reachJobRun(asking: Asking): Promise<Target> {
  const jobRun = await findJobRun(asking.tx, text(asking.input.jobRunId))
  if (!jobRun) throw notFound('Job run')
  const target = await reachEnvironment(asking, { appEnvId: jobRun.appEnvId }, 'Job run')
  return { ...target, jobRun }
}

/** X1, A3: secrets in clear are for admins, and never for a read-only token: what it reads could write elsewhere. */
export function requireSecretsAccess(
  caller: Caller,
  membership: Membership | null,
  message: string,
  rule = 'A3',
): void {
  if (membership?.admin && !caller.token.readOnly) return
  throw new AppError('forbidden', message, {
    details: membership?.admin
      ? 'A read-only token shows no secrets. Use another token of yours.'
      : 'Read without secrets, or ask an admin of the account.',
    rule,
  })
}

/** A2: only where the row says so, and only on the token's own environment. */
async function authoriseEnvironmentToken(
  asking: Asking,
  caller: Caller & { kind: 'environment' },
  policy: Policy,
): Promise<Target> {
  const { tx } = asking
  const own = await findEnvironment(tx, { appEnvId: caller.appEnvId })
  if (!own) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'The token is unknown or revoked.',
    })
  }
  asking.reached?.(own.accountId)
  if (!('environmentToken' in policy)) {
    throw new AppError('forbidden', 'This operation needs a user token', {
      details: 'An environment token may deploy to and read its own environment only.',
      rule: 'A2',
    })
  }
  if (policy.on === 'installation') return {}
  const isRun = policy.on === 'job-run'
  const jobRun = isRun ? await findJobRun(tx, text(asking.input.jobRunId)) : null
  const ref = isRun ? { appEnvId: jobRun?.appEnvId ?? '' } : environmentRef(asking.input)
  const environment = await findEnvironment(tx, ref)
  if (environment?.appEnvId === own.appEnvId) {
    const loaded = await loadAround(tx, environment)
    if (loaded) return { environment, ...loaded, membership: null, ...(jobRun ? { jobRun } : {}) }
  }
  if (!environment || environment.accountId !== own.accountId)
    throw notFound(isRun ? 'Job run' : 'App environment')
  throw new AppError('forbidden', 'This token belongs to another environment', {
    details: 'Use the token of this environment, or a user token.',
    rule: 'A2',
  })
}

function requirePermission(membership: Membership, needs: 'admin' | 'manageMembers' | undefined): void {
  if (needs === 'admin' && !membership.admin) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Ask an admin of the account.',
      rule: 'A3',
    })
  }
  if (needs === 'manageMembers' && !membership.admin && !membership.manageMembers) {
    throw new AppError('forbidden', 'Manage Members permission required', {
      details: 'Ask an admin of the account.',
      rule: 'A4',
    })
  }
}

/** The token's own limit, whatever its owner may. */
function readOnlyToken(): AppError {
  return new AppError('forbidden', 'This token is read-only', {
    details: 'It can call reads (GET) only. Use a token that was made without --read-only.',
    rule: 'read-only-token',
  })
}
