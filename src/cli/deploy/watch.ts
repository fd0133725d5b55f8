import type { Client } from '../../client/client.ts'
import { type Clock, sleep } from '../../clock.ts'
import { type Deployment, getAppEnvStatus, type LogLine } from '../../contract/app-env-reads.ts'
import { servesUnproven } from '../../contract/health-words.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { createLogFollower, type LogFollower } from '../logs/follower.ts'
import { createPatientReader } from '../patient-reader.ts'
import { type Progress, readableDuration } from '../progress.ts'

type DeployStatus = OutputOf<typeof getAppEnvStatus>

export interface WatchEnd {
  kind: 'serves' | 'failed' | 'superseded'
  status: DeployStatus
  /** The watched deployment; on `superseded` the one that replaced it. */
  deployment: Deployment
}

export interface Watched {
  client: Client
  appEnvId: string
  contentId: string
  version: number
  isJob: boolean
  /** The first stage: a build, or the start of an image. */
  begins: 'BUILDING' | 'DEPLOYING'
  progress: Progress
  clock: Clock
  signal: AbortSignal
}

const pollMs = 300

/** Shows build log and stages until the version serves, has failed or was replaced. Throws the abort's reason. */
export async function watchDeployment(watched: Watched): Promise<WatchEnd> {
  const { clock, signal, progress, version } = watched
  const log = deploymentLog(watched, 'BUILD')
  const stages = createStages(watched)
  stages.now(watched.begins)
  const { client, appEnvId } = watched
  const ask = createPatientReader(watched, () => client.call(getAppEnvStatus, { appEnvId }, { signal }))
  for (;;) {
    const status = await ask()
    await log.show()
    const end = endOf(status, watched.contentId)
    if (end) {
      // The last lines may have been written between the two reads.
      await log.show()
      stages.end(end)
      if (end.kind === 'serves')
        progress.done(`Version ${version} ${watched.isJob ? 'is ready for runs' : 'serves'}`)
      return end
    }
    if (status?.currentDeployment)
      stages.now(servesUnproven(status) ? 'PROVING' : status.currentDeployment.status)
    await sleep(clock, pollMs, signal)
    signal.throwIfAborted()
  }
}

/** PROVING: it serves, and must stay healthy for its stability window. */
type Stage = Deployment['status'] | 'PROVING'

const stageTexts: Partial<Record<Stage, string>> = {
  BUILDING: 'Building',
  DEPLOYING: 'Starting',
  PROVING: 'Serving, and in its stability window:',
}

/** Shows the start and duration of each stage, and the end of a build. */
function createStages({ clock, progress, version }: Watched) {
  let stage: Stage | null = null
  let sinceMs = clock.monotonicMs()
  const leave = () => {
    const took = readableDuration(clock.monotonicMs() - sinceMs)
    if (stage === 'BUILDING') progress.done(`Built version ${version} in ${took}`)
  }
  return {
    now(next: Stage): void {
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

/** Shows the log of the deployment as lines of the progress. */
export function deploymentLog(watched: Watched, type: 'BUILD' | 'RUNTIME', size = 1000): LogFollower {
  const { client, appEnvId, contentId, signal, progress } = watched
  const onLine = ({ message }: LogLine) => progress.line(message)
  return createLogFollower({ client, signal, query: { appEnvId, contentId, type, size }, onLine })
}
