import type { z } from 'zod'
import type { Client } from '../../client/client.ts'
import { listAccounts } from '../../contract/accounts.ts'
import type { Operation } from '../../contract/operation.ts'

const pageSize = 1_000

interface Page {
  readonly [list: string]: unknown
  readonly pagination?: { hasMore: boolean }
}

/** The lists of an operation for every account of the caller, joined; of a list with pages, every page. */
export async function ofEveryAccount(
  client: Client,
  row: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<Record<string, unknown[]>> {
  const { accounts } = await client.call(listAccounts, {})
  const perAccount = await Promise.all(
    accounts.map(({ accountId }) => pagesOf(client, row, { ...input, accountId })),
  )
  const pages = perAccount.flat()
  const lists = Object.keys((row.output as z.ZodObject).shape).filter((name) => name !== 'pagination')
  return Object.fromEntries(lists.map((name) => [name, pages.flatMap((page) => page[name] as unknown[])]))
}

async function pagesOf(
  client: Client,
  row: Operation,
  input: Readonly<Record<string, unknown>>,
): Promise<Page[]> {
  if (!('offset' in row.input.shape)) return [(await client.call(row, input)) as Page]
  const pages: Page[] = []
  for (let offset = 0; ; offset += pageSize) {
    const page = (await client.call(row, { ...input, limit: pageSize, offset })) as Page
    pages.push(page)
    if (page.pagination?.hasMore !== true) return pages
  }
}
