import { useSearch } from '@tanstack/react-router'
import { createContext, useContext } from 'react'
import { listAccounts } from '../../contract/accounts.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { everyMs, useRead } from '../api/queries.ts'

export type Account = OutputOf<typeof listAccounts>['accounts'][number]

const Current = createContext<Account | null>(null)
export const AccountProvider = Current.Provider

/** The account of the page; always defined inside the frame. */
export function useAccount(): Account {
  const account = useContext(Current)
  if (!account) throw new Error('useAccount must be used inside the frame')
  return account
}

/** The reader's accounts and the chosen one: `?account=`, or the first. */
export function useAccounts() {
  const accounts = useRead(listAccounts, {}, { everyMs: everyMs.chart })
  const { account: wanted } = useSearch({ strict: false }) as { account?: string }
  const all = accounts.data?.accounts ?? []
  const chosen = wanted === undefined ? all[0] : all.find(({ accountId }) => accountId === wanted)
  return { query: accounts, all, chosen }
}
