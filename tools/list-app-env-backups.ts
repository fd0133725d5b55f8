import { listAppEnvBackups } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listAppEnvBackups,
  group: 'databases',
  title: 'List backups',
  description: 'Lists database backups, also of deleted environments, and restores.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ backups, restores }) =>
    `${backups.length} backup(s)${newest(backups)}; ${restores.length} restore(s)${newest(restores)}.`,
})

function newest([first]: readonly { status: string }[]): string {
  return first === undefined ? '' : `, newest ${first.status}`
}
