import http from 'node:http'
import { getAppEnvPods } from '../../src/contract/app-env-reads.ts'
import type { AvailableEngine } from '../../testkit/engines/available-engines.ts'
import { machine, ms, quantile, say } from '../../testkit/figures.ts'
import { startFixture } from './fixture.ts'

const slots = 10
const maxScale = 5
const idleSeconds = 300
/** Minutes and the requests at once they have on average; what lies between is silence. */
const phases = [
  { from: 0, to: 8, atOnce: 2 },
  { from: 8, to: 12, atOnce: 12 },
  { from: 12, to: 16, atOnce: 24 },
  { from: 16, to: 24, atOnce: 8 },
  { from: 31, to: 31.5, atOnce: 30 },
  { from: 31.5, to: 36, atOnce: 3 },
  { from: 50, to: 60, atOnce: 5 },
]
const hourMs = 3_600_000

/** One request of the hour. */
interface Call {
  atMs: number
  lastsMs: number
}

/**
 * An hour's traffic with a ramp, waves, a burst and a silence longer than the idle period, replayed `speed` times
 * as fast (windows and idle period too, starts of containers not): container-seconds used against the least
 * possible, with foresight and starts that take no time, without and with the idle period that F1 asks for.
 */
export async function trace(available: AvailableEngine, speed: number): Promise<void> {
  const calls = hourOfCalls()
  const functionConfig = { containerConcurrency: slots, maxScale, idleTimeoutSeconds: idleSeconds }
  const fixture = await startFixture(available, { clockScale: speed, functionConfig })
  const agent = new http.Agent({ keepAlive: true, maxSockets: 512 })
  const pods = new Map<string, { startedAt: string | null; finishedAt: string | null }>()
  const look = async () => {
    const read = await fixture.client.call(getAppEnvPods, { appEnvId: fixture.appEnvId })
    for (const pod of read.pods) pods.set(pod.podId, pod)
  }
  try {
    await fixture.untilZero()
    await look()
    const before = new Set(pods.keys())
    const startMs = performance.now()
    const looking = setInterval(() => void look().catch(() => {}), 1_000)
    const outcomes = await replay(calls, speed, (call) => {
      const path = `/?ms=${Math.round(call.lastsMs / speed)}`
      return ask(agent, fixture.gatewayPort, fixture.host, path)
    })
    const tookMs = performance.now() - startMs
    await fixture.untilZero()
    clearInterval(looking)
    await look()
    const made = [...pods].filter(([podId]) => !before.has(podId)).map(([, pod]) => pod)
    const used = made.reduce((sum, pod) => sum + lifeMs(pod), 0) * speed
    const failed = outcomes.filter(({ status }) => status !== 200).length
    const over = outcomes.map(({ tookMs }, index) => tookMs - calls[index]!.lastsMs / speed)
    say(`an hour of traffic in ${(tookMs / 1000).toFixed(0)} s, ${available.engine} engine (${machine()})`)
    say(
      `  ${calls.length} requests, ${failed} failed, ${made.length} containers started (maxScale ${maxScale})`,
    )
    say(
      `  added to a request: p50 ${ms(quantile(over, 0.5))}, p99 ${ms(quantile(over, 0.99))} (cold starts included)`,
    )
    say(`  container-seconds used      ${seconds(used)}`)
    tellLeast('least possible', used, leastMs(calls, 0))
    tellLeast(`least with ${idleSeconds} s idle`, used, leastMs(calls, idleSeconds * 1000))
    if (failed > 0) process.exitCode = 1
  } finally {
    agent.destroy()
    await fixture.close()
  }
}

function tellLeast(what: string, usedMs: number, least: number): void {
  say(`  ${what.padEnd(27)} ${seconds(least)}   used ${(usedMs / least).toFixed(2)} x`)
}

function seconds(value: number): string {
  return `${Math.round(value / 1000)} s`.padStart(8)
}

function lifeMs({ startedAt, finishedAt }: { startedAt: string | null; finishedAt: string | null }): number {
  if (!startedAt || !finishedAt) return 0
  return Date.parse(finishedAt) - Date.parse(startedAt)
}

/** The same hour every time. */
function hourOfCalls(): Call[] {
  let seed = 7
  const random = () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    return (seed + 1) / 4_294_967_297
  }
  const calls: Call[] = []
  for (const { from, to, atOnce } of phases) {
    for (let atMs = from * 60_000; atMs < to * 60_000; ) {
      const lastsMs = 2_000 + 4_000 * random()
      // Arrivals at random (Poisson), in waves of two minutes.
      const wave = 1 + 0.4 * Math.sin((atMs / 120_000) * 2 * Math.PI)
      atMs += (-Math.log(random()) * 4_000) / (atOnce * wave)
      if (atMs < to * 60_000) calls.push({ atMs, lastsMs })
    }
  }
  return calls
}

/** Container-milliseconds that the calls need at least; after the last one a container stays for `idleMs`. */
function leastMs(calls: readonly Call[], idleMs: number): number {
  const events = calls.flatMap(({ atMs, lastsMs }) => [
    { atMs, change: 1 },
    { atMs: atMs + lastsMs, change: -1 },
  ])
  events.sort((a, b) => a.atMs - b.atMs)
  let sum = 0
  let atOnce = 0
  events.forEach(({ atMs, change }, index) => {
    atOnce += change
    const lastsMs = (events[index + 1]?.atMs ?? atMs + hourMs) - atMs
    if (atOnce === 0) sum += Math.min(lastsMs, idleMs)
    else sum += Math.min(maxScale, Math.ceil(atOnce / slots)) * lastsMs
  })
  return sum
}

interface Outcome {
  status: number
  tookMs: number
}

async function replay(
  calls: readonly Call[],
  speed: number,
  send: (call: Call) => Promise<Outcome>,
): Promise<Outcome[]> {
  const startMs = performance.now()
  const outcomes: Promise<Outcome>[] = []
  for (const call of calls) {
    const dueMs = startMs + call.atMs / speed
    while (performance.now() < dueMs) await new Promise((resolve) => setTimeout(resolve, 1))
    outcomes.push(send(call))
  }
  return Promise.all(outcomes)
}

function ask(agent: http.Agent, port: number, host: string, path: string): Promise<Outcome> {
  const startMs = performance.now()
  return new Promise((resolve) => {
    const end = (status: number) => resolve({ status, tookMs: performance.now() - startMs })
    http
      .get({ port, host: '127.0.0.1', path, agent, headers: { host } }, (response) => {
        response.resume().once('end', () => end(response.statusCode ?? 0))
        response.once('error', () => end(0))
      })
      .once('error', () => end(0))
  })
}
