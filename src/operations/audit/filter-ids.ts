import { mayAccess } from '../../domain/access/environment-access.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findMembership } from '../../store/repositories/accounts.ts'
import { type AuditFilter, readAuditEntries } from '../../store/repositories/audit.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findUser } from '../../store/repositories/users.ts'
import type { AccountTarget } from '../core/access-targets.ts'

const idLike = /^[a-z]{2,5}_[A-Za-z0-9]+$/
/** Objects that only their ids name, and where those are. */
const nameless = {
  tokenId: 'list-user-tokens and the entries of list-audit show it',
  approvalId: 'list-approvals shows it',
} as const

/** The filter with ids in place of the name of an environment or an e-mail address; other names are refused. */
export async function idsOf<
  Filter extends Pick<AuditFilter, 'objectId' | 'principalId' | 'tokenId' | 'approvalId'>,
>(tx: Tx, target: AccountTarget, filter: Filter): Promise<Filter> {
  for (const [field, source] of Object.entries(nameless)) {
    const given = filter[field as keyof typeof nameless]
    if (given === undefined || idLike.test(given)) continue
    throw new AppError('invalid', `No such ${field}`, {
      details: `${field} takes an id, not a name: ${source}.`,
    })
  }
  const ids: Pick<AuditFilter, 'objectId' | 'principalId'> = {}
  for (const field of ['objectId', 'principalId'] as const) {
    const given = filter[field]
    if (given !== undefined) ids[field] = await idOf(tx, target, field, given)
  }
  return { ...filter, ...ids }
}

async function idOf(
  tx: Tx,
  target: AccountTarget,
  field: 'objectId' | 'principalId',
  given: string,
): Promise<string> {
  const { accountId } = target.account
  if (idLike.test(given) || (await isRecorded(tx, accountId, { [field]: given }))) return given
  const environment = await findEnvironment(tx, { envName: given })
  const isOurs = environment?.accountId === accountId
  if (isOurs && mayAccess(target.account, target.membership, environment.appEnvId))
    return environment.appEnvId
  const user = field === 'principalId' ? await findUser(tx, { email: given }) : null
  const isKnown =
    user !== null &&
    ((await findMembership(tx, accountId, user.userId)) !== null ||
      (await isRecorded(tx, accountId, { principalId: user.userId })))
  if (isKnown) return user.userId
  throw new AppError('invalid', `No such ${field}`, {
    details:
      field === 'objectId'
        ? 'objectId takes the id of an object, such as env_… or alr_…, or the cliEnvName of an environment. The entries of list-audit show the objectId of objects that were deleted.'
        : 'principalId takes the id of a user or environment, the e-mail address of a member, or a cliEnvName. list-members shows the members.',
  })
}

async function isRecorded(tx: Tx, accountId: string, filter: AuditFilter): Promise<boolean> {
  for await (const _entry of readAuditEntries(tx, { ...filter, accountId }, { limit: 1, before: null }))
    return true
  return false
}
