import { listDatabasePresets } from '../src/contract/databases.ts'
import type { OutputOf } from '../src/contract/operation.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listDatabasePresets,
  group: 'databases',
  title: 'List database presets',
  description:
    'Lists which managed databases can be created here (PostgreSQL, MySQL, MongoDB, Redis, CouchDB, RabbitMQ, ClickHouse): available versions, replicas, limits.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ presets }) => {
    const here = presets.filter((preset) => preset.available).map((preset) => preset.dockerPreset)
    return `Can run here: ${here.join(', ') || 'none'}.`
  },
  // The versions of a preset that cannot run here would repeat its reason.
  shorten: ({ presets }) => ({
    presets: presets.map((preset) =>
      preset.available ? preset : { ...preset, versions: preset.versions.map(named) },
    ),
  }),
})

function named({
  unavailableReason: _reason,
  ...version
}: OutputOf<typeof listDatabasePresets>['presets'][number]['versions'][number]) {
  return version
}
