import type { Client } from '../client/client.ts'
import { type Clock, sleep } from '../clock.ts'
import { type Deployment, getAppEnvStatus, getLogs, type LogLine } from '../contract/app-env-reads.ts'
import type { OutputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { type Progress, readableDuration } from './progress.ts'

export type DeployStatus = OutputOf<typeof getAppEnvStatus>

export interface WatchEnd {
  kind: 'serves' | 'failed' | 'superseded'
  status: DeployStatus
  /** The deployment watched; on `superseded` the one that took its place. */
  deployment: Deployment
}

export interface Watched {
  client: Client
  appEnvId: string
  contentId: string
  version: number
  /** What comes first: a build, or the start of an image. */
  begins: 'BUILDING' | 'DEPLOYING'
  progress: Progress
  clock: Clock
  signal: AbortSignal
}

const pollMs = 300
/** The platform may restart meanwhile; the deployment goes on, so keep asking this long. */
const patienceMs = 60_000

/** Shows build log and stages until the version serves, has failed or was replaced. Throws the abort's reason. */
export async function watchDeployment(watched: Watched): Promise<WatchEnd> {
  const { clock, signal, progress, version } = watched
  const log = createLogFollower(watched, 'BUILD')
  const stages = createStages(watched)
  stages.now(watched.begins)
  const ask = createPatientReader(watched)
  for (;;) {
    const status = await ask()
    await log.show()
    const end = endOf(status, watched.contentId)
    if (end) {
      // The last lines may have been written between the two readings.
      await log.show()
      stages.end(end)
      if (end.kind === 'serves') progress.done(`Version ${version} serves`)
      return end
    }
    if (status?.currentDeployment) stages.now(status.currentDeployment.status)
    await sleep(clock, pollMs, signal)
    signal.throwIfAborted()
  }
}

const stageTexts: Partial<Record<Deployment['status'], string>> = {
  BUILDING: 'Building',
  DEPLOYING: 'Starting',
}

/** Tells when a stage begins, how long it lasts, and that a build is done. */
function createStages({ clock, progress, version }: Watched) {
  let stage: Deployment['status'] | null = null
  let sinceMs = clock.monotonicMs()
  const leave = () => {
    const took = readableDuration(clock.monotonicMs() - sinceMs)
    if (stage === 'BUILDING') progress.done(`Built version ${version} in ${took}`)
  }
  return {
    now(next: Deployment['status']): void {
      if (next === stage) {
        progress.update(readableDuration(clock.monotonicMs() - sinceMs))
        return
      }
      leave()
      stage = next
      sinceMs = clock.monotonicMs()
      const text = stageTexts[next]
      if (text) progress.stage(`${text} version ${version}`)
    },
    end(end: WatchEnd): void {
      if (end.kind === 'serves') leave()
    },
  }
}

function endOf(status: DeployStatus | null, contentId: string): WatchEnd | null {
  const deployment = status?.currentDeployment
  if (!status || !deployment) return null
  if (deployment.contentId !== contentId) return { kind: 'superseded', status, deployment }
  if (deployment.status === 'FAILED') return { kind: 'failed', status, deployment }
  const settled = status.status === 'RUNNING' || status.status === 'STOPPED'
  return deployment.status === 'DEPLOYED' && settled ? { kind: 'serves', status, deployment } : null
}

/** Reads the status; null while the platform is away for a moment, its error when it stays away. */
function createPatientReader({
  client,
  appEnvId,
  clock,
  signal,
}: Watched): () => Promise<DeployStatus | null> {
  let awaySinceMs: number | null = null
  return async () => {
    try {
      const status = await client.call(getAppEnvStatus, { appEnvId }, { signal })
      awaySinceMs = null
      return status
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) throw error
      awaySinceMs ??= clock.monotonicMs()
      if (clock.monotonicMs() - awaySinceMs > patienceMs) throw error
      return null
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof AppError && (error.kind === 'unavailable' || error.kind === 'rate-limited')
}

/** Lines may be stored a little out of order, so each reading goes back this far and drops what was shown. */
const overlapMs = 2_000

export interface LogFollower {
  /** Shows the lines that came since. */
  show(): Promise<void>
}

export function createLogFollower(watched: Watched, type: 'BUILD' | 'RUNTIME', size = 1000): LogFollower {
  const { client, appEnvId, contentId, signal, progress } = watched
  const shown = new Map<string, number>()
  let newestMs = 0
  return {
    async show() {
      const from = newestMs === 0 ? {} : { from: new Date(newestMs - overlapMs).toISOString() }
      let lines: LogLine[]
      try {
        lines = (await client.call(getLogs, { appEnvId, contentId, type, size, ...from }, { signal })).logs
      } catch (error) {
        signal.throwIfAborted()
        // The log only explains; the status decides, and says when the platform is really gone.
        if (error instanceof AppError) return
        throw error
      }
      const seen = new Map<string, number>()
      for (const line of lines) {
        const key = `${line.timestamp} ${line.stream} ${line.message}`
        const count = (seen.get(key) ?? 0) + 1
        seen.set(key, count)
        newestMs = Math.max(newestMs, Date.parse(line.timestamp))
        if (count <= (shown.get(key) ?? 0)) continue
        shown.set(key, count)
        progress.line(line.message)
      }
    },
  }
}
