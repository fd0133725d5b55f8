import { getAppEnvBackup } from '../../contract/backups.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { backupResponse, restoreResponse } from '../../domain/backups/backup.ts'
import { listRestores } from '../../store/repositories/backups.ts'
import { handler } from '../core/handler.ts'

const shownRestores = 20

export default handler(getAppEnvBackup, async ({ tx }, _input, { backup, account, membership }) => {
  const restores = await listRestores(tx, { backupIds: [backup.backupId] }, shownRestores)
  const shown = restores.filter(({ appEnvId }) => mayAccess(account, membership, appEnvId))
  return { answer: { backup: backupResponse(backup), restores: shown.map(restoreResponse) } }
})
