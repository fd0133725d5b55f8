import { counted } from '../src/amounts.ts'
import { listAccounts } from '../src/contract/accounts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAccounts,
  group: 'apps',
  title: 'List accounts',
  description: 'Lists your accounts (organizations): ids, permissions, limits. Start here.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ accounts }) =>
    `${counted(accounts.length, 'account')}: ${accounts.map((account) => account.accountId).join(', ')}.`,
})
