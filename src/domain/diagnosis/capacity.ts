import type { Evidence, Finding } from '../../contract/diagnosis.ts'
import { isBurst, isQueueing, isSaturated, severityOf, slowSeconds } from './errors.ts'
import { type Detector, type Facts, fixBy } from './facts.ts'

/** Samples that CPU must be high over before a limit counts as reached. */
const leastSamples = 3
const busyPercent = 95

/** The environment is as large as it may be, and too small. */
export const detectCapacity: Detector = (facts) => {
  if (facts.desiredState !== 'running') return []
  const found = facts.kind === 'function' ? saturated(facts) : facts.kind === 'app' ? atLimit(facts) : null
  if (!found) return slowResponses(facts)
  const quota = found.fix === null ? quotaFinding(facts, found) : null
  return quota ? [quota, found] : [found]
}

/** Below this, requests may be slow by their nature. */
const verySlowSeconds = 5
const leastSlow = 2

/** Nothing else explains why answers are slow. */
function slowResponses({ metrics, recentTraffic, traffic, kind }: Facts): Finding[] {
  const seconds = metrics?.recentP95Seconds ?? 0
  const isServed = kind === 'app' || kind === 'function'
  const isExplained = traffic !== null && isBurst(traffic)
  if (!isServed || isExplained || seconds < verySlowSeconds) return []
  if ((recentTraffic?.requests ?? 0) < leastSlow) return []
  return [
    {
      cause: 'slow-responses',
      severity: 'warning',
      confidence: 'certain',
      summary: `Requests of the last ${Math.round(recentTraffic!.seconds)} s took up to ${rounded(seconds)} s.`,
      since: null,
      evidence: [{ source: 'metric', at: null, text: 'ingress_p95_latency', value: rounded(seconds) }],
      fix: null,
    },
  ]
}

function saturated(facts: Facts): Finding | null {
  const { traffic, functionConfig, appEnvId, quota, zClouds } = facts
  if (!traffic || !functionConfig) return null
  const rejects = traffic.failed > 0 && isSaturated(facts)
  if (!rejects && !isQueueing(facts)) return null
  const { maxScale } = functionConfig
  const rate = (count: number) => rounded(count / Math.max(1, traffic.seconds))
  const free = Math.floor((quota.zCloudLimit - quota.zCloudsUsed) / zClouds)
  const more = Math.min(maxScale * 2, quota.functionMaxScale, maxScale + Math.max(0, free))
  const effect = `Lets the function use up to ${more} containers instead of ${maxScale}, at once.`
  const input = { appEnvId, maxScale: more, applyImmediately: true }
  return {
    cause: 'concurrency-saturated',
    severity: rejects ? severityOf(traffic) : 'warning',
    confidence: 'likely',
    summary: `All ${maxScale} containers that maxScale allows are busy, and requests ${rejects ? 'are rejected' : 'wait for a place'}.`,
    since: null,
    evidence: [
      { source: 'metric', at: null, text: 'ingress_request_rate', value: rate(traffic.requests) },
      rejects
        ? { source: 'metric', at: null, text: 'ingress_5xx_rate', value: rate(traffic.failed) }
        : { source: 'request', at: null, text: 'mean seconds', value: rounded(facts.meanSeconds ?? 0) },
      { source: 'setting', at: null, text: 'maxScale', value: maxScale },
    ],
    fix:
      more > maxScale
        ? fixBy('update-function-config', input, effect, facts.pendingFields.length === 0)
        : null,
  }
}

function atLimit(facts: Facts): Finding | null {
  const { metrics, autoscaling, containers } = facts
  if (!metrics || metrics.resourceSamples < leastSamples) return null
  if (!autoscaling?.enabled) return fixedAtLimit(facts)
  if (containers < autoscaling.maxContainers) return null
  const { targetCpuPercent, targetMemoryPercent } = autoscaling
  const isBusy = (metrics.cpuPercent ?? 0) >= targetCpuPercent
  const isFull = targetMemoryPercent !== null && (metrics.memoryPercent ?? 0) >= targetMemoryPercent
  if (!isBusy && !isFull) return null
  const evidence: Evidence = isBusy
    ? { source: 'metric', at: null, text: 'cpu_percent', value: rounded(metrics.cpuPercent!) }
    : { source: 'metric', at: null, text: 'memory_percent', value: rounded(metrics.memoryPercent!) }
  const most = largestCount(facts, autoscaling.maxContainers)
  const effect = `Lets autoscaling use up to ${most} containers instead of ${autoscaling.maxContainers}.`
  const input = { appEnvId: facts.appEnvId, maxContainers: most }
  return {
    cause: 'scale-limit',
    severity: 'warning',
    confidence: 'certain',
    summary: `It runs the ${containers} containers that autoscaling allows, and they are at their ${isBusy ? 'CPU' : 'memory'} target.`,
    since: null,
    evidence: [
      evidence,
      { source: 'setting', at: null, text: 'maxContainers', value: autoscaling.maxContainers },
    ],
    fix: most > autoscaling.maxContainers ? fixBy('update-app-env-autoscaling', input, effect, true) : null,
  }
}

/** A full CPU alone may be batch work; with slow answers it holds requests up. */
function fixedAtLimit(facts: Facts): Finding | null {
  const { metrics, containers } = facts
  if ((metrics?.cpuPercent ?? 0) < busyPercent || (metrics?.p95Seconds ?? 0) < slowSeconds) return null
  const most = largestCount(facts, containers)
  const effect = `Runs ${most} containers instead of ${containers}.`
  return {
    cause: 'scale-limit',
    severity: 'warning',
    confidence: 'possible',
    summary: `${containers === 1 ? 'Its container uses all its' : `Its ${containers} containers use all their`} CPU, and answers are slow.`,
    since: null,
    evidence: [
      { source: 'metric', at: null, text: 'cpu_percent', value: rounded(metrics!.cpuPercent!) },
      { source: 'metric', at: null, text: 'ingress_p95_latency', value: rounded(metrics!.p95Seconds!) },
    ],
    fix:
      most > containers
        ? fixBy('scale-app-env-containers', { appEnvId: facts.appEnvId, containers: most }, effect, false)
        : null,
  }
}

/** Twice as many, as far as the account's zCloudLimit goes. */
function largestCount({ quota, zClouds }: Facts, now: number): number {
  const free = Math.max(0, Math.floor((quota.zCloudLimit - quota.zCloudsUsed) / zClouds))
  return Math.min(100, now * 2, now + free)
}

function quotaFinding({ quota, functionConfig }: Facts, found: Finding): Finding | null {
  const atScale = functionConfig !== null && functionConfig.maxScale >= quota.functionMaxScale
  const [limit, value] = atScale
    ? (['functionMaxScale', quota.functionMaxScale] as const)
    : (['zCloudLimit', quota.zCloudLimit] as const)
  return {
    cause: 'quota',
    severity: found.severity,
    confidence: 'certain',
    summary: `It needs more containers, and the ${limit} of the account, ${value}, allows none.`,
    since: found.since,
    evidence: [
      { source: 'setting', at: null, text: limit, value },
      ...(quota.showsUsed ? [used(quota)] : []),
    ],
    fix: null,
  }
}

function used({ zCloudsUsed }: Facts['quota']): Evidence {
  return { source: 'setting', at: null, text: 'zClouds used', value: zCloudsUsed }
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
