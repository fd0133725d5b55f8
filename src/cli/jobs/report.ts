import type { EffectiveJobConfig } from '../../contract/job-config.ts'
import type { JobRunResponse, SnapshotLayers } from '../../contract/jobs.ts'
import { printable, readableDuration } from '../progress.ts'

const signs: Record<JobRunResponse['status'], string> = {
  PENDING: '…',
  RUNNING: '▶',
  SUCCEEDED: '✓',
  FAILED: '✗',
  CANCELED: '■',
  TIMED_OUT: '✗',
}
const widestCommand = 50

/** Runs of a job, one a line, newest first. */
export function runsReport(jobRuns: readonly JobRunResponse[], total: number, nowMs: number): string[] {
  if (jobRuns.length === 0) return ['There are no runs. Start one with: longshore jobs run <environment>']
  const rows = jobRuns.map((run) => [
    `${signs[run.status]} ${run.jobRunId}`,
    run.status,
    `attempt ${run.attempt} of ${run.snapshot.backoffLimit + 1}`,
    run.exitCode === null ? '' : `exit ${run.exitCode}`,
    lastedText(run, nowMs),
    `${readableDuration(Math.max(0, nowMs - Date.parse(run.createdAt)))} ago`,
    shortened(commandText(run.snapshot)),
  ])
  const left = total - jobRuns.length
  return [...table(rows), ...(left > 0 ? [`… ${left} more: --limit, --offset`] : [])]
}

/** One run in full: its progress, its settings and the source of each setting. */
export function runReport(jobRun: JobRunResponse, from: SnapshotLayers | undefined, nowMs: number): string[] {
  const { jobRunId, status, attempt, snapshot, trigger } = jobRun
  const layer = (name: keyof SnapshotLayers) => (from ? `  (${from[name]})` : '')
  const args = snapshot.args.map((arg) => JSON.stringify(printable(arg))).join(' ')
  return [
    `${signs[status]} ${jobRunId}  ${status}${jobRun.finishedAt ? `: ${endText(jobRun)}` : ''}`,
    '',
    `  Attempt     ${attempt} of at most ${snapshot.backoffLimit + 1}${layer('backoffLimit')}`,
    `  Created     ${jobRun.createdAt} by ${trigger.userId ?? 'the token of the environment'}`,
    `  Started     ${jobRun.startedAt ?? 'not yet'}`,
    `  Finished    ${jobRun.finishedAt ?? 'not yet'}${jobRun.startedAt ? `, ${lastedText(jobRun, nowMs)}` : ''}`,
    `  Command     ${printable(snapshot.command)}${layer('command')}`,
    ...(args === '' ? [] : [`  Arguments   ${args}${layer('args')}`]),
    `  Shell       ${snapshot.shell ? '/bin/sh -lc' : 'none'}${layer('shell')}`,
    `  Directory   ${snapshot.workingDir === null ? "the image's" : printable(snapshot.workingDir)}${layer('workingDir')}`,
    `  Deadline    ${snapshot.timeoutSeconds} s${layer('timeoutSeconds')}`,
    `  Image       ${printable(snapshot.image)} (${snapshot.contentId})`,
    '',
    jobRun.finishedAt === null
      ? `  Follow it with: longshore jobs logs ${jobRunId} --follow; end it with: longshore jobs cancel ${jobRunId}`
      : `  Its output: longshore jobs logs ${jobRunId}`,
  ]
}

/** For each setting its value, its source, and its value after an apply. */
export function settingsReport(config: EffectiveJobConfig): string[] {
  const rows = Object.entries(config).map(([name, { value, from, pending }]) => [
    name,
    valueText(value),
    from,
    pending ? `→ ${valueText(pending.value)} (${pending.from}) when applied` : '',
  ])
  return table(rows)
}

/** How a run or its last attempt ended. */
export function endText({ exitCode, reason, status }: JobRunResponse): string {
  if (status === 'TIMED_OUT') return 'deadline exceeded'
  if (status === 'CANCELED') return 'canceled'
  if (exitCode === null) return reason === null ? 'unknown' : printable(reason)
  return reason === 'OOMKilled' ? `out of memory, exit code ${exitCode}` : `exit code ${exitCode}`
}

function lastedText({ startedAt, finishedAt }: JobRunResponse, nowMs: number): string {
  if (startedAt === null) return ''
  const endMs = finishedAt === null ? nowMs : Date.parse(finishedAt)
  return readableDuration(Math.max(0, endMs - Date.parse(startedAt)))
}

function commandText({ command, args }: JobRunResponse['snapshot']): string {
  return [command, ...args].map(printable).join(' ')
}

function shortened(text: string): string {
  return text.length <= widestCommand ? text : `${text.slice(0, widestCommand - 1)}…`
}

function valueText(value: unknown): string {
  return value === null ? 'not set' : printable(typeof value === 'string' ? value : JSON.stringify(value))
}

function table(rows: readonly string[][]): string[] {
  const widths =
    rows[0]?.map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
