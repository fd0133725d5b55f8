import { listDatabasePresets } from '../src/contract/databases.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listDatabasePresets,
  group: 'databases',
  title: 'List database presets',
  description:
    'Lists the managed databases with version keys, disk and replica limits, and whether each can run here. Read it before create-app with one.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ presets }) => {
    const here = presets.filter((preset) => preset.available).map((preset) => preset.dockerPreset)
    return `Can run here: ${here.join(', ') || 'none'}.`
  },
})
