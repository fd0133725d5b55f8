import { getLogs, type LogLine } from '../src/contract/app-env-reads.ts'
import { cut } from '../src/mcp/answer-size.ts'
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
  defaults: { size: 30 },
  // Few lines are shown whole, many are cut.
  shorten: (answer) => {
    const most = Math.max(200, Math.floor(6_400 / Math.max(1, answer.logs.length)))
    return { ...answer, logs: answer.logs.map((line) => ({ ...line, message: cut(line.message, most) })) }
  },
  body: ({ logs }, frame) => (logs.length === 0 ? '' : frame('log of a tenant program', shownLines(logs))),
})

/** What all lines have in common is said once, in the first. */
function shownLines(logs: readonly LogLine[]): string[] {
  return logs.map((line, index) => {
    const before = logs[index - 1]
    const time =
      before?.timestamp.slice(0, 10) === line.timestamp.slice(0, 10)
        ? line.timestamp.slice(11, 23)
        : line.timestamp
    const pod = line.podName === null || line.podName === before?.podName ? '' : ` ${line.podName}`
    return `${time}${pod}${line.stream === 'stderr' ? ' stderr' : ''} ${line.message}`
  })
}
