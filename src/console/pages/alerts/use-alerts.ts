import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type Alert, listAlerts } from '../../../contract/alerts.ts'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { useAccounts } from '../../shell/account.ts'

const atOnce = 6
/** Polls accounts with many environments less often: at most 20 reads a second. */
const msPerEnvironment = 50

export type AlertRow = Alert & { envName: string }

/** Whether the reader may change alerts and contact points of an account (A3). */
export function useIsAdmin(accountId: string): boolean {
  return useAccounts().all.some((one) => one.accountId === accountId && one.permissions.admin)
}

/** Alerts of all environments of an account that the reader can access. */
export function useAllAlerts(accountId: string) {
  const environments = useRead(listAppEnvs, { accountId }, { everyMs: everyMs.chart })
  const all = environments.data?.appEnvs.map(({ appEnvId, cliEnvName }) => ({ appEnvId, cliEnvName })) ?? []
  const alerts = useQuery<AlertRow[], AppError>({
    queryKey: ['all-alerts', accountId, all],
    queryFn: ({ signal }) => readAll(all, signal),
    enabled: environments.isSuccess,
    refetchInterval: Math.max(everyMs.list, all.length * msPerEnvironment),
    placeholderData: keepPreviousData,
  })
  return { data: alerts.data, error: environments.error ?? alerts.error }
}

async function readAll(
  environments: readonly { appEnvId: string; cliEnvName: string }[],
  signal: AbortSignal,
): Promise<AlertRow[]> {
  const waiting = [...environments]
  const rows: AlertRow[] = []
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { appEnvId, cliEnvName: envName } = next
      const { alerts } = await client.call(listAlerts, { appEnvId }, { signal }).catch((error) => {
        // Deleted after the list was read.
        if (error instanceof AppError && error.kind === 'not-found') return { alerts: [] }
        throw error
      })
      rows.push(...alerts.map((alert) => ({ ...alert, envName })))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return rows
}
