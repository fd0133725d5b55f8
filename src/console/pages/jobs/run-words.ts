import type { JobRunResponse } from '../../../contract/jobs.ts'
import type { Tone } from '../../components/Badge.tsx'

type Status = JobRunResponse['status']

export const runTones: Record<Status, Tone> = {
  PENDING: 'busy',
  RUNNING: 'busy',
  SUCCEEDED: 'ok',
  FAILED: 'bad',
  CANCELED: 'idle',
  TIMED_OUT: 'bad',
}

export const runNames: Record<Status, string> = {
  PENDING: 'Waiting',
  RUNNING: 'Running',
  SUCCEEDED: 'Succeeded',
  FAILED: 'Failed',
  CANCELED: 'Canceled',
  TIMED_OUT: 'Timed out',
}

export const isActive = ({ status }: { status: Status }): boolean =>
  status === 'PENDING' || status === 'RUNNING'

/** The reason, if it adds to the status. */
export function reasonWords({ status, reason }: Pick<JobRunResponse, 'status' | 'reason'>): string | null {
  return reason?.toLowerCase() === runNames[status].toLowerCase() ? null : reason
}

/** "2 min 5 s", from the start to the end or to now. */
export function tookWords(startedAt: string, finishedAt: string | null, nowMs: number): string {
  const end = finishedAt === null ? nowMs : Date.parse(finishedAt)
  return secondsWords(Math.max(0, Math.round((end - Date.parse(startedAt)) / 1000)))
}

/** "1 h 30 min", "45 s": the two largest units. */
export function secondsWords(seconds: number): string {
  const units: [string, number][] = [
    ['d', Math.floor(seconds / 86_400)],
    ['h', Math.floor(seconds / 3_600) % 24],
    ['min', Math.floor(seconds / 60) % 60],
    ['s', seconds % 60],
  ]
  const first = units.findIndex(([, count]) => count > 0)
  if (first === -1) return '0 s'
  return units
    .slice(first, first + 2)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => `${count} ${unit}`)
    .join(' ')
}

/** The command of a run as one would type it. */
export function commandWords({ command, args }: { command: string; args: readonly string[] }): string {
  return [command, ...args].join(' ')
}
