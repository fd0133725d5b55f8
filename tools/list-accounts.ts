import { listAccounts } from '../src/contract/accounts.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listAccounts,
  group: 'apps',
  title: 'List accounts',
  description:
    'Lists the accounts of the caller with permissions and limits. Start here: other tools take an accountId.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ accounts }) =>
    `${accounts.length} account(s): ${accounts.map((account) => account.name).join(', ')}.`,
})
