import type { LogLine } from '../../contract/app-env-reads.ts'
import type { DeploymentFacts, RequestFacts } from '../../domain/diagnosis/facts.ts'
import { endingsOf } from '../../domain/diagnosis/runtime.ts'
import type { PodRecord } from '../../domain/environments/environment.ts'
import { responseMsOf } from '../../domain/environments/request-line.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import type { Context, Sources } from '../core/handler.ts'

const linesRead = 60
const requestsRead = 100
const recentLogMs = 10 * 60_000
/** Output may be stamped a little later than the end of the container that printed it. */
const lateOutputMs = 2_000

type Lines = readonly LogLine[]

interface History {
  latest: DeploymentFacts | null
  serving: DeploymentFacts | null
  current: DeploymentFacts | null
  pods: readonly PodRecord[]
}

/**
 * Output of the newest deployment if it failed, recent output of the serving version, and output of containers that
 * ended.
 */
export async function loadLogs(
  logs: Sources['logs'],
  { now }: Context,
  appEnvId: string,
  { latest, serving, current, pods }: History,
): Promise<{ buildLog: Lines; failedLog: Lines; servingLog: Lines; crashLog: Lines }> {
  const nowMs = Date.parse(now)
  const read = async (query: Omit<Parameters<typeof logs.read>[1], 'size'>) =>
    (await logs.read(appEnvId, { ...query, size: linesRead })).logs
  const outputOf = ({ podName, from, to }: Output) =>
    read({ type: 'RUNTIME', podNames: [podName], from, ...(to && { to }) })
  const failed = latest?.status === 'FAILED' ? latest : null
  const runs = serving ?? (failed ? null : (current ?? latest))
  const ofFailed = failed && { contentId: failed.contentId, from: failed.createdAt }
  const ended = failed && lastOutput(pods, failed.rolloutId, nowMs)
  const crashed = runs && lastOutput(pods, runs.rolloutId, nowMs)
  const recent = new Date(nowMs - recentLogMs).toISOString()
  return {
    buildLog: ofFailed ? await read({ type: 'BUILD', ...ofFailed }) : [],
    failedLog: ended ? await outputOf(ended) : ofFailed ? await read({ type: 'RUNTIME', ...ofFailed }) : [],
    servingLog: runs ? await read({ type: 'RUNTIME', contentId: runs.contentId, from: recent }) : [],
    crashLog: crashed ? await outputOf(crashed) : [],
  }
}

interface Output {
  podName: string
  from: string
  to: string | null
}

/** The lines of the container that ended last by itself: a pod has one container after another. */
function lastOutput(pods: readonly PodRecord[], rolloutId: string, nowMs: number): Output | null {
  const [last] = endingsOf(pods, rolloutId, nowMs)
  const pod = pods.find(({ name }) => name === last?.podName)
  if (!last || !pod) return null
  const before = pod.exits?.filter((at) => at < last.at).at(-1)
  const from = before === undefined ? pod.createdAt : new Date(Date.parse(before) + 1).toISOString()
  const lateMs = Date.parse(last.at) + lateOutputMs
  const isNext = pod.startedAt !== null && pod.startedAt > last.at
  const to = isNext ? new Date(Math.min(lateMs, Date.parse(pod.startedAt!))).toISOString() : null
  return { podName: pod.name, from, to }
}

/** Requests since `fromMs` that failed, were refused or got no answer. */
export async function loadRequests(
  logs: Sources['logs'],
  appEnvId: string,
  fromMs: number,
  mask: Mask,
): Promise<RequestFacts[]> {
  const from = new Date(fromMs).toISOString()
  const page = await logs.read(appEnvId, { type: 'REQUEST', isTroubled: true, from, size: requestsRead })
  return page.logs.flatMap(({ timestamp: at, podName, request }) => {
    if (!request) return []
    const { status, durationMs, refused, cut, oneIn } = request
    const [method, path] = [mask(request.method), mask(request.path)]
    return [{ at, container: podName, method, path, status, durationMs, refused, cut, oneIn }]
  })
}

/** The mean response time of requests since `fromMs`; a sampled one counts for those that it stands for. */
export async function loadMeanSeconds(
  logs: Sources['logs'],
  appEnvId: string,
  fromMs: number,
): Promise<number | null> {
  const from = new Date(fromMs).toISOString()
  const page = await logs.read(appEnvId, { type: 'REQUEST', from, size: requestsRead })
  let [count, totalMs] = [0, 0]
  for (const { request } of page.logs) {
    if (!request) continue
    count += request.oneIn
    totalMs += responseMsOf(request) * request.oneIn
  }
  return count === 0 ? null : totalMs / count / 1_000
}
