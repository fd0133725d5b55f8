import { getAppEnvPods, type Pod } from '../../contract/app-env-reads.ts'
import type { PodRecord } from '../../domain/environments/environment.ts'
import type { JobAttempt } from '../../domain/jobs/run.ts'
import { listAttemptsOfRun, listJobAttempts } from '../../store/repositories/job-runs.ts'
import { findRollout, listLivePods, listPods } from '../../store/repositories/rollouts.ts'
import { notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'

const functionPodsListed = 20
const attemptsListed = 50

/**
 * F10: a function lists its last 20 pods whatever their status; an app those of its current deployment; a job the
 * newest attempts of its runs, or all of one run.
 */
export default handler(getAppEnvPods, async ({ tx }, { jobRunId }, { environment, app }) => {
  const rolloutId = environment.currentRolloutId ?? environment.latestRolloutId
  const rollout = rolloutId === null ? null : await findRollout(tx, rolloutId)
  if (app.isJob) {
    const attempts =
      jobRunId === undefined
        ? await listJobAttempts(tx, environment.appEnvId, attemptsListed)
        : (await listAttemptsOfRun(tx, environment.appEnvId, jobRunId))?.reverse()
    if (!attempts) throw notFound('job-run')
    const pods = attempts.map(attemptResponse)
    return { answer: { appEnvId: environment.appEnvId, contentId: rollout?.contentId ?? null, pods } }
  }
  const pods = app.isFunction
    ? await listPods(tx, environment.appEnvId, functionPodsListed)
    : await podsOfApp(await listLivePods(tx, environment.appEnvId), rolloutId)
  return {
    answer: {
      appEnvId: environment.appEnvId,
      contentId: rollout?.contentId ?? null,
      pods: pods.map(podResponse),
    },
  }
})

async function podsOfApp(live: PodRecord[], rolloutId: string | null): Promise<PodRecord[]> {
  return live.filter((pod) => pod.rolloutId === rolloutId)
}

function podResponse(pod: PodRecord): Pod {
  return {
    name: pod.name,
    podId: pod.podId,
    status: pod.status,
    containerReady: pod.ready,
    startedAt: pod.startedAt,
    finishedAt: pod.finishedAt,
    restartCount: pod.restartCount,
    lastTermination: pod.lastTermination,
    resources: { cpu: pod.cpuMillicores / 1000, memoryMb: pod.memoryMb },
    nodeName: pod.nodeName,
    contentId: pod.contentId,
  }
}

function attemptResponse(attempt: JobAttempt): Pod {
  const { finishedAt, reason } = attempt
  return {
    name: attempt.containerName,
    podId: attempt.attemptId,
    status: attempt.status,
    containerReady: attempt.status === 'Running',
    startedAt: attempt.startedAt,
    finishedAt,
    restartCount: 0,
    lastTermination:
      finishedAt === null ? null : { exitCode: attempt.exitCode ?? -1, reason: reason ?? '', finishedAt },
    resources: { cpu: attempt.cpuMillicores / 1000, memoryMb: attempt.memoryMb },
    nodeName: attempt.nodeName,
    contentId: attempt.contentId,
  }
}
