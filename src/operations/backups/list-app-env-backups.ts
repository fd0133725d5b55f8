import { listAppEnvBackups } from '../../contract/backups.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { backupResponse, restoreResponse } from '../../domain/backups/backup.ts'
import { listBackups, listRestores } from '../../store/repositories/backups.ts'
import { handler } from '../core/handler.ts'

const shownRestores = 20

/** M1: backups of environments that the caller can access, or could have accessed before their deletion. */
export default handler(listAppEnvBackups, async ({ tx }, input, { account, membership }) => {
  const { accountId } = account
  const { appEnvId } = input
  const mine = (one: { accountId: string; appEnvId: string }) =>
    one.accountId === accountId && mayAccess(account, membership, one.appEnvId)
  const backups = (await listBackups(tx, { accountId, appEnvId })).filter(mine)
  const of = appEnvId === undefined ? { backupIds: backups.map(({ backupId }) => backupId) } : { appEnvId }
  const restores = (await listRestores(tx, of, shownRestores)).filter(mine)
  return { answer: { backups: backups.map(backupResponse), restores: restores.map(restoreResponse) } }
})
