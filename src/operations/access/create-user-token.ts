import type { InputOf } from '../../contract/operation.ts'
import { createUserToken } from '../../contract/users.ts'
import type { TokenAccess } from '../../domain/access/agent-limits.ts'
import { expiryOf } from '../../domain/access/token-expiry.ts'
import { mostTokensOfUser, newToken, tokenHash } from '../../domain/access/tokens.ts'
import { AppError } from '../../errors.ts'
import { insertToken, makeRoomForToken } from '../../store/repositories/tokens.ts'
import { loadVisible } from '../core/authorize.ts'
import { type Context, handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

type Input = InputOf<typeof createUserToken>

export default handler(createUserToken, async (context, input) => {
  const { tx, now, caller } = context
  const userId = userOf(caller)
  if (!(await makeRoomForToken(tx, userId, now))) {
    throw new AppError('invalid', `A user has at most ${mostTokensOfUser} tokens`, {
      details: 'Revoke one that is no longer needed: list-user-tokens, then revoke-user-token.',
    })
  }
  const expiresAt = expiryOf(input.expiresAt, { now, creatorExpiresAt: caller.token.expiresAt })
  await requireReachable(context, input)
  const token = newToken('user')
  const { name, readOnly } = input
  const options = { name, readOnly, expiresAt, access: accessOf(input) }
  const tokenId = await insertToken(tx, tokenHash(token), { kind: 'user', userId }, now, options)
  return {
    answer: { tokenId, token, expiresAt },
    change: {
      objectType: 'token',
      objectId: tokenId,
      accountId: null,
      before: null,
      after: { tokenId, ...options },
    },
    impact: { actions: ['change-credential', 'reveal-secret'] },
    effects: [effectOf(input), expiresAt === null ? 'It does not expire.' : `It expires at ${expiresAt}.`],
  }
})

/** A limited token never gets here (refusalOfToken), so every limit is within those of the creator. */
function accessOf({
  kind,
  label,
  scopes,
  toolGroups,
  accountId,
  appId,
  appEnvIds,
  mayPropose,
}: Input): TokenAccess {
  return {
    kind,
    label: label ?? null,
    scopes: scopes ?? null,
    groups: toolGroups ?? null,
    pin: { account: accountId ?? null, app: appId ?? null, env: null, environments: appEnvIds ?? null },
    mayPropose: mayPropose ?? kind === 'agent',
  }
}

/** A token for objects that its owner cannot reach would only look useful. */
async function requireReachable(
  { tx, caller }: Context,
  { accountId, appId, appEnvIds = [] }: Input,
): Promise<void> {
  const request = { tx, caller, operation: createUserToken }
  if (accountId !== undefined) await loadVisible({ ...request, input: { accountId } }, 'account')
  const app = appId === undefined ? null : await loadVisible({ ...request, input: { appId } }, 'app')
  const environments = []
  for (const appEnvId of appEnvIds)
    environments.push(await loadVisible({ ...request, input: { appEnvId } }, 'environment'))
  const isApart =
    [app, ...environments].some(
      (one) => one !== null && one.account.accountId !== (accountId ?? one.account.accountId),
    ) || environments.some(({ app: own }) => own.appId !== (appId ?? own.appId))
  if (!isApart) return
  throw new AppError('invalid', 'The limits exclude each other', {
    details: 'appEnvIds must belong to appId, and both to accountId.',
  })
}

function effectOf({ readOnly, ...limits }: Input): string {
  const what = limits.kind === 'agent' ? 'token for an agent' : 'token'
  const { scopes, accountId, appId, appEnvIds, toolGroups } = limits
  const isLimited = [scopes, accountId, appId, appEnvIds, toolGroups].some((one) => one !== undefined)
  if (readOnly) return `Creates a read-only ${what}.`
  return isLimited
    ? `Creates a ${what} with some of your permissions.`
    : `Creates a ${what} with all your permissions.`
}
