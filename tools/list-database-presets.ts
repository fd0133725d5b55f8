import { listDatabasePresets } from '../src/contract/databases.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listDatabasePresets,
  group: 'databases',
  title: 'List database presets',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ presets }) => {
    const here = presets.filter((preset) => preset.available).map((preset) => preset.dockerPreset)
    return `Can run here: ${here.join(', ') || 'none'}.`
  },
})
