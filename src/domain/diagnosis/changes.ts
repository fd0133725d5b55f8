import type { Change } from '../../contract/diagnosis.ts'
import type { Metric } from '../../contract/metrics.ts'

export interface Break {
  metric: Metric
  at: string
  before: number
  after: number
  /** When it was over; null: it lasts, or that is unknown. */
  until?: string | null
}

/** Breaks of several metrics within this time are one. */
const oneEpisodeMs = 10 * 60_000

/** The break that a new episode began with: of the newest ones the plainest, which comes first. */
export function newestEpisode(breaks: readonly Break[]): Break | null {
  const newest = Math.max(...breaks.map(({ at }) => Date.parse(at)))
  return breaks.find(({ at }) => newest - Date.parse(at) <= oneEpisodeMs) ?? null
}

/** Metrics that break when a change goes wrong, the plainest first, and the least rise that counts. */
export const watchedMetrics: readonly { metric: Metric; leastRise: number }[] = [
  { metric: 'ingress_5xx_percent', leastRise: 5 },
  { metric: 'ingress_p95_latency', leastRise: 0.5 },
  { metric: 'cpu_percent', leastRise: 30 },
  { metric: 'memory_percent', leastRise: 20 },
]

const baselinePoints = 20
const leastBaseline = 2
const leastFactor = 3

/** The last time a metric rose far above its usual level, the one outside of earlier rises, and stayed for another point. */
export function breakOf(
  metric: Metric,
  points: readonly { t: number; value: number }[],
  leastRise: number,
): Break | null {
  let found: Break | null = null
  let limit = Number.POSITIVE_INFINITY
  const usual: number[] = []
  for (const [index, { t, value }] of points.entries()) {
    if (value > limit) continue
    if (limit !== Number.POSITIVE_INFINITY) found = ended(found, t)
    limit = Number.POSITIVE_INFINITY
    const before = median(usual.slice(-baselinePoints))
    const broken = before === null ? limit : Math.max(before * leastFactor, before + leastRise)
    const next = points[index + 1]?.value ?? value
    if (index < leastBaseline || before === null || value <= broken || next <= broken) {
      usual.push(value)
      continue
    }
    found = {
      metric,
      at: new Date(t).toISOString(),
      before: rounded(before),
      after: rounded(value),
      until: null,
    }
    limit = broken
  }
  return found
}

function ended(found: Break | null, t: number): Break | null {
  return found && { ...found, until: new Date(t).toISOString() }
}

/** Failed requests below which a short rise is no burst, as in the diagnosis. */
const leastFailures = 3

interface ErrorPoint {
  t: number
  /** Percent of the requests that failed, and the highest of a sample of the point. */
  value: number
  max: number
  failures: number
}

/** The last point in which at least one sample failed far above the usual level, however briefly. */
export function burstOf(metric: Metric, points: readonly ErrorPoint[], leastRise: number): Break | null {
  const usual = median(points.map(({ value }) => value)) ?? 0
  const broken = Math.max(usual * leastFactor, usual + leastRise)
  const isBurst = ({ max, failures }: ErrorPoint) => max > broken && failures >= leastFailures
  // The first of those that follow each other: there it began.
  const last = points.findLastIndex(isBurst)
  const first = points.slice(0, Math.max(0, last)).findLastIndex((point) => !isBurst(point)) + 1
  const found = last < 0 ? undefined : points[first]
  if (!found) return null
  return {
    ...{ metric, at: new Date(found.t).toISOString(), before: rounded(usual), after: rounded(found.max) },
    until: points[last + 1] ? new Date(points[last + 1]!.t).toISOString() : null,
  }
}

/** Weight of each kind of change by its effect on running containers. */
const weights: Readonly<Record<Change['kind'], number>> = {
  deployment: 5,
  settings: 4,
  variables: 4,
  platform: 3,
  scale: 3,
  access: 1,
  alert: 0,
}
const fadeMinutes = 10

type Unranked = Omit<Change, 'rank'>

/** Ranks the changes before the break, newest first: larger and nearer changes come first. */
export function rankChanges(changes: readonly Unranked[], broke: Break | null): Change[] {
  const deployments = changes.filter(({ kind, at }) => kind === 'deployment' && broke && at <= broke.at)
  const scored = changes.map((change) => ({ change, score: scoreOf(inForce(change, deployments), broke) }))
  const order = scored.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score)
  const ranks = new Map(order.map(({ change }, index) => [change, index + 1]))
  return changes.map((change) => ({ ...change, rank: ranks.get(change) ?? null }))
}

/** Variables take effect with the first deployment after they were saved, so they count as much as it does. */
function inForce(change: Unranked, deployments: readonly Unranked[]): Unranked {
  const applied = change.kind === 'variables' && deployments.findLast(({ at }) => at >= change.at)
  return applied || change
}

function scoreOf({ at, kind }: Unranked, broke: Break | null): number {
  if (!broke || at > broke.at) return 0
  const minutes = (Date.parse(broke.at) - Date.parse(at)) / 60_000
  return weights[kind] / (1 + minutes / fadeMinutes)
}

function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b)
  // With an even number of values, the lower median: one burst among two points is not the usual level.
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
