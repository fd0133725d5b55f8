import { listDatabasePresets } from '../src/contract/databases.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listDatabasePresets,
  group: 'databases',
  title: 'List database presets',
  description:
    'Lists the managed databases with version keys, disk and replica limits, and whether this installation can run each. Read it before create-app with a database preset.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ presets }) => {
    const here = presets.filter((preset) => preset.available).map((preset) => preset.dockerPreset)
    return `Can run here: ${here.join(', ') || 'none'}.`
  },
})
