import { getLogs, type LogLine } from '../src/contract/app-env-reads.ts'
import type { RawInputOf } from '../src/contract/operation.ts'
import { cut } from '../src/mcp/answer-size.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { environmentOfRunNamed } from '../src/mcp/job-checks.ts'

export default defineTool({
  operation: getLogs,
  group: 'logs',
  title: 'Read logs',
  description:
    'Reads runtime, build or job logs, newest last. Narrow with search, time, size; cursor of the answer reads older lines.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentOfRunNamed, environmentNamed],
  point: ({ logs, cursor, truncated }, input) => {
    const older = cursor === null ? '' : ` Older lines: cursor ${cursor}.`
    if (logs.length === 0) return `${nothingFound(input)}${older}`
    const lines = logs.length === 1 ? '1 line' : `${logs.length} lines`
    return `${lines} of the ${typeOf(input)} log, newest last.${truncated ? ' Truncated.' : ''}${older}`
  },
  defaults: { size: 30 },
  // Few lines are shown whole, many are cut.
  shorten: (answer) => {
    const most = Math.max(200, Math.floor(6_400 / Math.max(1, answer.logs.length)))
    return { ...answer, logs: answer.logs.map((line) => ({ ...line, message: cut(line.message, most) })) }
  },
  body: ({ logs }, frame) => (logs.length === 0 ? '' : frame('log of a tenant program', shownLines(logs))),
})

type Input = RawInputOf<typeof getLogs>

/** A run has a JOB log only, whatever type was asked for. */
function typeOf({ type = 'RUNTIME', jobRunId }: Input): string {
  return jobRunId === undefined ? type : 'JOB'
}

const narrowing = ['stream', 'podName', 'contentId', 'jobRunId', 'search', 'from', 'to', 'cursor'] as const

/** No line may mean a filter that fits none, or the wrong log: both are said, as the next call mends it. */
function nothingFound(input: Input): string {
  const given = narrowing.filter((name) => input[name] !== undefined)
  const fits = given.length === 0 ? 'is empty' : `has no line that fits ${given.join(', ')}`
  const others = { RUNTIME: 'BUILD or JOB', BUILD: 'RUNTIME or JOB', JOB: 'RUNTIME or BUILD' }
  const elsewhere =
    input.jobRunId === undefined ? ` Other logs: type ${others[input.type ?? 'RUNTIME']}.` : ''
  return `The ${typeOf(input)} log ${fits}.${elsewhere}`
}

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
