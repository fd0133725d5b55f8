import type { Client } from '../client/client.ts'
import { type Clock, sleep } from '../clock.ts'
import type { LogLine } from '../contract/app-env-reads.ts'
import { getJobRun, type JobRunAnswer } from '../contract/jobs.ts'
import { endText } from './job-report.ts'
import { createLogFollower, mostPages } from './log-follower.ts'
import { createPatientReader } from './patient-reader.ts'
import { type Progress, printable, readableDuration } from './progress.ts'

export interface WatchedRun {
  client: Client
  jobRun: JobRunAnswer
  progress: Progress
  clock: Clock
  signal: AbortSignal
  onLine(line: LogLine): void
}

const pollMs = 300

/** Shows the lines and the attempts of a run until it is over, and answers how it ended. Throws the abort's reason. */
export async function watchRun(watched: WatchedRun): Promise<JobRunAnswer> {
  const { client, clock, signal, progress } = watched
  const { jobRunId } = watched.jobRun
  const log = createRunLog(watched)
  const tell = createTeller(watched)
  const ask = createPatientReader(watched, async () => {
    return (await client.call(getJobRun, { jobRunId }, { signal })).jobRun
  })
  for (;;) {
    const jobRun = await ask()
    await log.show()
    if (jobRun?.finishedAt) {
      // The last lines may have been written between the two readings.
      await log.show()
      progress.close()
      return jobRun
    }
    if (jobRun) tell(jobRun)
    await sleep(clock, pollMs, signal)
    signal.throwIfAborted()
  }
}

/** Every line of a run, its earlier attempts included. */
export function createRunLog({ client, jobRun, signal, onLine }: Omit<WatchedRun, 'progress' | 'clock'>) {
  const { appEnvId, jobRunId } = jobRun
  const query = { appEnvId, jobRunId, size: 1000 }
  return createLogFollower({ client, query, firstPages: mostPages, signal, onLine })
}

/** Says when an attempt begins and when one has failed; in between, how long it lasts. */
function createTeller({ clock, progress }: WatchedRun): (jobRun: JobRunAnswer) => void {
  let said = ''
  let sinceMs = clock.monotonicMs()
  return (jobRun) => {
    const text = stageOf(jobRun)
    if (text !== said) {
      said = text
      sinceMs = clock.monotonicMs()
      progress.stage(text)
    } else progress.update(readableDuration(clock.monotonicMs() - sinceMs))
  }
}

function stageOf(jobRun: JobRunAnswer): string {
  const { status, attempt, snapshot, reason } = jobRun
  const of = snapshot.backoffLimit > 0 ? ` of at most ${snapshot.backoffLimit + 1}` : ''
  if (status === 'RUNNING') return `Attempt ${attempt}${of} runs`
  // What keeps its container from being made; set back to null when it runs.
  if (reason?.startsWith('Waiting')) return printable(reason)
  if (attempt === 0) return 'Waiting to start'
  if (reason === null) return `Attempt ${attempt}${of} starts`
  return `Attempt ${attempt}${of} failed (${endText(jobRun)}); the next one follows`
}
