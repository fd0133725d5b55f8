import type { Facts } from '../../domain/diagnosis/facts.ts'
import { listActiveBackups, listActiveRestores } from '../../store/repositories/backups.ts'
import type { Context } from '../core/handler.ts'

/** Backups and restores of an environment that have not begun, and why. */
export async function loadWaitingCopies({ tx }: Context, appEnvId: string): Promise<Facts['waitingCopies']> {
  const backups = await listActiveBackups(tx, appEnvId)
  const restores = await listActiveRestores(tx, appEnvId)
  const all = [
    ...backups.map((one) => ({ ...one, kind: 'backup' as const, id: one.backupId })),
    ...restores.map((one) => ({ ...one, kind: 'restore' as const, id: one.restoreId })),
  ]
  return all.flatMap(({ kind, id, createdAt, waitingFor, ofMove = false }) =>
    waitingFor ? [{ kind, id, createdAt, waitingFor, ofMove }] : [],
  )
}
