import type { Alert } from '../../../contract/alerts.ts'
import { useAccounts } from '../../shell/account.ts'

export type AlertRow = Alert & { envName: string }

/** Whether the reader may change alerts and contact points of an account (A3). */
export function useIsAdmin(accountId: string): boolean {
  return useAccounts().all.some((one) => one.accountId === accountId && one.permissions.admin)
}
