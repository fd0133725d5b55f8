import { type Clock, sleep } from '../../clock.ts'
import type { HealthCheck } from '../../contract/health.ts'
import type { DatabaseSpec, Engine } from '../../engines/engine.ts'
import { type ListenOutcome, waitUntilListening } from '../../engines/wait-until-listening.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'
import { checkContainer } from './container-check.ts'
import { databaseAnswers } from './database-ping.ts'
import { type ExpectedPort, ListenWatch, type StartVerdict, timeoutVerdict } from './listen-verdict.ts'
import type { LivePod } from './live-pod.ts'

const startTimeoutMs = 60_000
/** The first start creates the data folder, which takes some images a minute. */
const databaseStartTimeoutMs = 180_000
const askAgainMs = 50
/** The health check of a starting container slows down to this, so that a failing one does not flood its log. */
const slowestCheckMs = 500
const judgeEveryMs = 1_000

interface Waiting {
  pod: LivePod
  engine: Engine
  /** The port that the app declares. */
  port: number
  database: DatabaseSpec | undefined
  /** Apps and functions: its path must be answered within `limitMs` of listening. */
  health: { check: HealthCheck; limitMs: number; hostName: string } | null
  clock: Clock
  signal: AbortSignal
  /** Gets warnings before there is a verdict. */
  report(message: string): void
}

/**
 * Waits until the container accepts connections from outside, and for a database, until it answers. A verdict
 * explains a failure; if the container's sockets prove it, the verdict comes before the start timeout.
 */
export async function awaitReady(waiting: Waiting): Promise<'ready' | 'gone' | 'canceled' | StartVerdict> {
  const over = new AbortController()
  const both = { ...waiting, signal: AbortSignal.any([waiting.signal, over.signal]) }
  const timeoutMs = waiting.database ? databaseStartTimeoutMs : startTimeoutMs
  const ready = untilReady(both, timeoutMs).then(async (outcome) =>
    outcome === 'listening' ? untilHealthy(both) : outcome,
  )
  const early = judged(both).then(async (verdict) => verdict ?? (await ready))
  const outcome = await Promise.race([ready, early]).finally(() => over.abort())
  if (outcome !== 'timeout') return outcome
  if (waiting.database) {
    const message = `The database did not answer within ${timeoutMs / 1_000} seconds. get-logs shows its output.`
    return { reason: 'start-timeout', message }
  }
  return timeoutVerdict(await readListeners(waiting), expectedPort(waiting), timeoutMs)
}

/** Without a path, a container that listens is ready. */
async function untilHealthy({
  pod,
  health,
  clock,
  signal,
}: Waiting): Promise<'ready' | 'gone' | 'canceled' | StartVerdict> {
  if (!health || health.check.path === null) return 'ready'
  const endMs = clock.monotonicMs() + health.limitMs
  for (let waitMs = askAgainMs; ; waitMs = Math.min(slowestCheckMs, waitMs * 1.2)) {
    if (signal.aborted) return 'canceled'
    if (pod.ended || !pod.address) return 'gone'
    const problem = await checkContainer(pod.address, health.check, health.hostName)
    if (!problem) return pod.ended ? 'gone' : 'ready'
    if (clock.monotonicMs() >= endMs) return problem
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

async function untilReady(waiting: Waiting, timeoutMs: number): Promise<ListenOutcome> {
  const { pod, database, clock, signal } = waiting
  const endMs = clock.monotonicMs() + timeoutMs
  for (;;) {
    const outcome = await waitUntilListening({
      address: () => pod.address,
      stillRunning: () => pod.ended === null,
      timeoutMs: endMs - clock.monotonicMs(),
      clock,
      signal,
    })
    if (outcome !== 'listening' || !pod.address) return outcome
    if (!database || (await databaseAnswers(pod.address, database))) return outcome
    await new Promise((resolve) => setTimeout(resolve, askAgainMs))
  }
}

/** A verdict as soon as the container's sockets prove a failure; null if `signal` aborts first. */
async function judged(waiting: Waiting): Promise<StartVerdict | null> {
  const { pod, engine, database, clock, signal } = waiting
  if (!engine.listeners || database) return null
  const watch = new ListenWatch(expectedPort(waiting))
  for (;;) {
    await sleep(clock, judgeEveryMs, signal)
    if (signal.aborted) return null
    const reading = await readListeners(waiting)
    if (!reading) continue
    const message = watch.report(reading, clock.monotonicMs())
    if (message !== null) waiting.report(message)
    const usage = await engine.usage(containerNameOf(pod.record)).catch(() => null)
    const verdict = watch.judge(reading, usage?.cpuMs ?? 0, clock.monotonicMs())
    if (verdict && pod.ended === null) return verdict
  }
}

/** An unreadable result counts as unknown: the engine may be briefly unavailable. */
async function readListeners({ pod, engine }: Waiting) {
  return (await engine.listeners?.(containerNameOf(pod.record)).catch(() => null)) ?? null
}

function expectedPort({ pod, port }: Waiting): ExpectedPort {
  const { address } = pod
  // A proxy's port differs from the container's port.
  return { port, given: address && !address.proxied ? address.port : port }
}
