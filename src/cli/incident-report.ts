import type { getIncident } from '../contract/incidents.ts'
import type { OutputOf } from '../contract/operation.ts'
import { drawn, storyOf } from '../contract/remediation-story.ts'
import { severitySigns } from './health-report.ts'
import { printable } from './progress.ts'

type Incident = OutputOf<typeof getIncident>

/** The whole incident as one Markdown text, to read or to keep in a file. */
export function incidentReport(incident: Incident): string[] {
  const { envName, name, startedAt, endedAt, findings, timeline, alerts, runs, metrics, logs, audit } =
    incident
  const lines = [
    `# ${envName}: ${name}`,
    '',
    `Since ${startedAt}, ${endedAt === null ? 'not over' : `until ${endedAt}`}. Written at ${incident.createdAt}.`,
    ...part('Findings now', findings, ({ severity, cause, summary, evidence }) => [
      `- ${severitySigns[severity]} ${cause}: ${summary}`,
      ...evidence.map(({ source, text = '', value = '' }) => `  - ${source}: ${text} ${value}`.trimEnd()),
    ]),
    ...part('Metrics', metrics, ({ metric, unit, threshold, points }) => [
      `- ${metric} ${drawn(points)} ${unit}${threshold === null ? '' : `, threshold ${threshold}`}`,
    ]),
    ...part('Remediation runs', runs, (run) => [`- ${run.runId} ${run.status}: ${storyOf(run).join(' ')}`]),
    ...part('Alerts', alerts, (alert) => [
      `- ${alert.name} (${alert.alertId}): ${alert.state}${alert.enabled ? '' : ', paused'}`,
      ...alert.changes.map(({ at, from, to }) => `  - ${at} ${from} to ${to}`),
    ]),
    ...part('Timeline', timeline, ({ at, what, names, rank }) => [
      `- ${at} ${what}${names.length === 0 ? '' : ` (${names.join(', ')})`}${rank === null ? '' : `, likely reason ${rank}`}`,
    ]),
    ...part('Audit', audit, ({ timestamp, operation, outcome, principal, entryId }) => [
      `- ${timestamp} ${operation} by ${principal.name ?? principal.id}: ${outcome} (${entryId})`,
    ]),
    ...part('Logs', logs, ({ timestamp, stream, message }) => [`    ${timestamp} ${stream} ${message}`]),
  ]
  return lines.map((line) => printable(line))
}

function part<T>(title: string, items: readonly T[], linesOf: (item: T) => string[]): string[] {
  return ['', `## ${title}`, '', ...(items.length === 0 ? ['None.'] : items.flatMap(linesOf))]
}
