import { listAppEnvBackups } from '../contract/backups.ts'
import { backupAnswer, restoreAnswer } from '../domain/backup.ts'
import { listBackups, listRestores } from '../store/backups.ts'
import { handler } from './handler.ts'
import { mayReach } from './reach.ts'

const shownRestores = 20

/** M1: those of environments that the caller may see, or might have seen while they were there. */
export default handler(listAppEnvBackups, async ({ tx }, input, { account, membership }) => {
  const { accountId } = account
  const { appEnvId } = input
  const mine = (one: { accountId: string; appEnvId: string }) =>
    one.accountId === accountId && mayReach(account, membership, one.appEnvId)
  const backups = (await listBackups(tx, { accountId, appEnvId })).filter(mine)
  const of = appEnvId === undefined ? { backupIds: backups.map(({ backupId }) => backupId) } : { appEnvId }
  const restores = (await listRestores(tx, of, shownRestores)).filter(mine)
  return { answer: { backups: backups.map(backupAnswer), restores: restores.map(restoreAnswer) } }
})
