import { counted } from '../src/amounts.ts'
import { listAppEnvBackups } from '../src/contract/backups.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listAppEnvBackups,
  group: 'databases',
  title: 'List backups',
  description:
    'Lists the backups (snapshots, dumps, restore points) of an account and when they were taken, also of deleted environments, and the last 20 restores.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ backups, restores }) =>
    `${counted(backups.length, 'backup')}${newest(backups)}; ${counted(restores.length, 'restore')}${newest(restores)}.`,
})

function newest([first]: readonly { status: string }[]): string {
  return first === undefined ? '' : `, newest ${first.status}`
}
