import { counted } from '../src/amounts.ts'
import { getIncident } from '../src/contract/incidents.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { cut } from '../src/mcp/tools/result-size.ts'

const shown = { timeline: 20, logs: 30, points: 12, audit: 10, runs: 5, line: 300 }

export default defineTool({
  operation: getIncident,
  group: 'remediation',
  title: 'Read incident',
  description:
    'One episode in one answer: timeline, findings, logs, metrics, alerts, remediation runs, audit entries.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ appEnvId, startedAt, endedAt, findings, runs }, { envName = appEnvId }) =>
    [
      `${envName}: since ${startedAt}, ${endedAt === null ? 'not over' : `until ${endedAt}`}.`,
      findings[0] ? `First cause now: ${findings[0].cause}.` : 'Diagnosis finds no cause now.',
      `${counted(runs.length, 'remediation run')}.`,
    ].join(' '),
  shorten: (answer) => ({
    ...answer,
    timeline: answer.timeline.slice(0, shown.timeline),
    audit: answer.audit.slice(0, shown.audit),
    runs: answer.runs.slice(0, shown.runs),
    metrics: answer.metrics.map((one) => ({ ...one, points: one.points.slice(-shown.points) })),
    logs: answer.logs.slice(-shown.logs).map((line) => ({ ...line, message: cut(line.message, shown.line) })),
  }),
  // Log lines are text of a tenant.
  body: ({ logs, findings, ...answer }, frame) => {
    const ours = { ...answer, findings: findings.map(({ evidence: _, fix: _fix, ...rest }) => rest) }
    const quotes = findings.flatMap(({ cause, evidence }) =>
      evidence.map(({ source, text = '', value }) => [cause, source, text, value].join(' ').trim()),
    )
    const lines = [...quotes, ...logs.map(({ timestamp, message }) => `${timestamp} ${message}`)]
    return `${JSON.stringify(ours)}${lines.length === 0 ? '' : `\n${frame('evidence and log of a tenant program', lines)}`}`
  },
})
