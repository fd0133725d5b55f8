import { useQueryClient } from '@tanstack/react-query'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'

/** The first read of the overview: more than a window shows. */
export const firstOf = (accountId: string) => ({ accountId, limit: 60 })

/** A list of thousands is read less often; visible rows have a live status of their own. */
const msPerRow = 2

/** The first environments at once, then all of them, which takes a while when there are thousands. */
export function useEnvironments(accountId: string) {
  const known = useQueryClient().getQueryData<OutputOf<typeof listAppEnvs>>([listAppEnvs.id, { accountId }])
  const first = useRead(listAppEnvs, firstOf(accountId), { enabled: known === undefined })
  const all = useRead(
    listAppEnvs,
    { accountId },
    {
      everyMs: Math.max(everyMs.status, (known?.appEnvs.length ?? 0) * msPerRow),
      enabled: known !== undefined || first.isFetched,
    },
  )
  return {
    data: (all.data ?? first.data)?.appEnvs,
    isComplete: all.data !== undefined,
    error: all.error ?? first.error,
    refetch: all.refetch,
  }
}
