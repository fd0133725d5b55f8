import type { Client } from '../../client/client.ts'
import { type Clock, sleep } from '../../clock.ts'
import type { LogLine } from '../../contract/app-env-reads.ts'
import { getJobRun, type JobRunResponse } from '../../contract/jobs.ts'
import { createLogFollower, mostPages } from '../logs/follower.ts'
import { createPatientReader } from '../patient-reader.ts'
import { type Progress, printable, readableDuration } from '../progress.ts'
import { endText } from './report.ts'

interface WatchedRun {
  client: Client
  jobRun: JobRunResponse
  progress: Progress
  clock: Clock
  signal: AbortSignal
  onLine(line: LogLine): void
}

const pollMs = 300

/** Shows the output and attempts of a run until it ends; returns the ended run. Throws the abort's reason. */
export async function watchRun(watched: WatchedRun): Promise<JobRunResponse> {
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
      // The last lines may have been written between the two reads.
      await log.show()
      progress.close()
      return jobRun
    }
    if (jobRun) tell(jobRun)
    await sleep(clock, pollMs, signal)
    signal.throwIfAborted()
  }
}

/** Every line of a run, including earlier attempts. */
export function createRunLog({ client, jobRun, signal, onLine }: Omit<WatchedRun, 'progress' | 'clock'>) {
  const { appEnvId, jobRunId } = jobRun
  const query = { appEnvId, jobRunId, size: 1000 }
  return createLogFollower({ client, query, firstPages: mostPages, signal, onLine })
}

/** Shows the start, the failure and the duration of each attempt. */
function createTeller({ clock, progress }: WatchedRun): (jobRun: JobRunResponse) => void {
  let shown = ''
  let sinceMs = clock.monotonicMs()
  return (jobRun) => {
    const text = stageOf(jobRun)
    if (text !== shown) {
      shown = text
      sinceMs = clock.monotonicMs()
      progress.stage(text)
    } else progress.update(readableDuration(clock.monotonicMs() - sinceMs))
  }
}

function stageOf(jobRun: JobRunResponse): string {
  const { status, attempt, snapshot, reason } = jobRun
  const of = snapshot.backoffLimit > 0 ? ` of at most ${snapshot.backoffLimit + 1}` : ''
  if (status === 'RUNNING') return `Attempt ${attempt}${of} runs`
  // Set while the container cannot be created; null again when it runs.
  if (reason?.startsWith('Waiting')) return printable(reason)
  if (attempt === 0) return 'Waiting to start'
  if (reason === null) return `Attempt ${attempt}${of} starts`
  return `Attempt ${attempt}${of} failed (${endText(jobRun)}); the next one follows`
}
