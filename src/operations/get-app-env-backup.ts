import { getAppEnvBackup } from '../contract/backups.ts'
import { backupAnswer, restoreAnswer } from '../domain/backup.ts'
import { listRestores } from '../store/backups.ts'
import { handler } from './handler.ts'
import { mayReach } from './reach.ts'

const shownRestores = 20

export default handler(getAppEnvBackup, async ({ tx }, _input, { backup, account, membership }) => {
  const restores = await listRestores(tx, { backupIds: [backup.backupId] }, shownRestores)
  const shown = restores.filter(({ appEnvId }) => mayReach(account, membership, appEnvId))
  return { answer: { backup: backupAnswer(backup), restores: shown.map(restoreAnswer) } }
})
