import { getLogs, type LogLine, logTypes } from '../src/contract/app-env-reads.ts'
import type { RawInputOf } from '../src/contract/operation.ts'
import { logLink } from '../src/mcp/resources/log-links.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { environmentOfRunNamed } from '../src/mcp/tools/job-checks.ts'
import { cut } from '../src/mcp/tools/result-size.ts'

export default defineTool({
  operation: getLogs,
  group: 'logs',
  title: 'Read logs',
  description: 'Shows logs: what an app, build or job prints; output, errors, requests.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { stream: '' },
  checks: [environmentOfRunNamed, environmentNamed],
  point: ({ logs, cursor, truncated, sampling }, input) => {
    const older = cursor === null ? '' : ` Older lines: cursor ${cursor}.`
    if (logs.length === 0) return `${nothingFound(input)}${older}`
    const lines = logs.length === 1 ? '1 line' : `${logs.length} lines`
    const sampled =
      sampling && sampling.rate < 1 ? ` Sampled: they stand for about ${sampling.requests} requests.` : ''
    return `${lines} of the ${typeOf(input)} log, newest last.${sampled}${truncated ? ' Truncated.' : ''}${older}`
  },
  links: ({ cursor }, { appEnvId, envName, ...input }) => {
    const environment = envName ?? appEnvId
    const isWhole = cursor === null || environment === undefined || input.jobRunId !== undefined
    return isWhole ? [] : [logLink(environment, typeOf(input))]
  },
  defaults: { size: 30 },
  // The more lines, the shorter each is cut.
  shorten: (answer) => {
    const most = Math.max(200, Math.floor(6_400 / Math.max(1, answer.logs.length)))
    return { ...answer, logs: answer.logs.map((line) => ({ ...line, message: cut(line.message, most) })) }
  },
  body: ({ logs }, frame) =>
    logs.length === 0 ? '' : frame('log of a tenant program or its requests', shownLines(logs)),
})

type Input = RawInputOf<typeof getLogs>

/** A run has only a JOB log, so its type input is ignored. */
function typeOf({ type = 'RUNTIME', jobRunId }: Input): string {
  return jobRunId === undefined ? type : 'JOB'
}

const narrowing = [
  'stream',
  'podName',
  'contentId',
  'jobRunId',
  'search',
  'status',
  'path',
  'slowerThanMs',
  'from',
  'to',
  'cursor',
] as const

/** Names the filters and the other log types, so that the next call can find the lines. */
function nothingFound(input: Input): string {
  const given = narrowing.filter((name) => input[name] !== undefined)
  const fits = given.length === 0 ? 'is empty' : `has no line that matches ${given.join(', ')}`
  const others = logTypes.filter((type) => type !== typeOf(input)).join(', ')
  const elsewhere = input.jobRunId === undefined ? ` Other logs: type ${others}.` : ''
  return `The ${typeOf(input)} log ${fits}.${elsewhere}`
}

/** Omits the date and container of a line when they equal those of the line before. */
function shownLines(logs: readonly LogLine[]): string[] {
  return logs.map((line, index) => {
    const before = logs[index - 1]
    const time =
      before?.timestamp.slice(0, 10) === line.timestamp.slice(0, 10)
        ? line.timestamp.slice(11, 23)
        : line.timestamp
    const pod = line.podName === null || line.podName === before?.podName ? '' : ` ${line.podName}`
    return `${time}${pod}${line.stream === 'stderr' ? ' stderr' : ''} ${messageOf(line)}`
  })
}

/** A trace id costs as many tokens as the rest of the line: only requests that need a look show it. */
function messageOf({ message, request }: LogLine): string {
  const isFine = request && (request.status ?? 500) < 500 && request.durationMs < 1_000
  return isFine ? message.replace(/, trace [0-9a-f]{32}$/, '') : message
}
