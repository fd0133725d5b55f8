import { listAppEnvBackups } from '../contract/backups.ts'
import { backupAnswer } from '../domain/backup.ts'
import { listBackups } from '../store/backups.ts'
import { mayReach } from './authorise.ts'
import { handler } from './handler.ts'

/** M1: those of environments that the caller may see, or might have seen while they were there. */
export default handler(listAppEnvBackups, async ({ tx }, input, { account, membership }) => {
  const backups = await listBackups(tx, { accountId: account.accountId, appEnvId: input.appEnvId })
  const shown = backups.filter(({ appEnvId }) => mayReach(account, membership, appEnvId))
  return { answer: { backups: shown.map(backupAnswer) } }
})
