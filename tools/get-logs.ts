import { getLogs } from '../src/contract/app-env-reads.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getLogs,
  group: 'logs',
  title: 'Read logs',
  description:
    'Reads runtime, build or job logs, newest last. Narrow with search, time, size; cursor of the answer reads older lines.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: ({ logs, cursor, truncated }, { type = 'RUNTIME' }) =>
    `${logs.length} lines of the ${type} log, newest last.${truncated ? ' Truncated.' : ''}${cursor === null ? '' : ` Older lines: cursor ${cursor}.`}`,
  body: ({ logs }, frame) =>
    logs.length === 0
      ? ''
      : frame(
          'log of a tenant program',
          logs.map((line) => `${line.timestamp} ${line.podName ?? line.type} ${line.stream} ${line.message}`),
        ),
})
