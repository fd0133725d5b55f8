/**
 * The cost of metrics:
 *
 *   sampling   one pass over 200 containers of the process engine (small Node servers), and CPU time of it
 *   keeping    one pass of 1,000 environments into the store, memory and disk after two hours of passes
 *   reading    a window of ten minutes (what an alert reads), two hours at 10 s, and a day from files
 *
 *   npm run bench -- metrics [containers]
 */

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { systemClock } from '../src/clock.ts'
import type { Metric } from '../src/contract/metrics.ts'
import { createLog } from '../src/log.ts'
import { bucketOf } from '../src/metrics/histogram.ts'
import { IngressCounter } from '../src/metrics/ingress-counter.ts'
import { type MetricTargetContainer, Sampler } from '../src/metrics/sampler.ts'
import { MetricStore } from '../src/metrics/store.ts'
import { ProcessInstallation } from '../testkit/engines/process-installation.ts'
import { median } from '../testkit/figures.ts'

const count = Number(process.argv[2] ?? 200)
const environments = 1_000
const periodMs = 10_000
const log = createLog('bench', 'silent')

await sampling()
await keepingAndReading()

async function sampling(): Promise<void> {
  const installation = await ProcessInstallation.create()
  const engine = await installation.open()
  const { image } = await installation.build(engine, {
    Dockerfile: 'FROM node:20-alpine\nWORKDIR /app\nCOPY . .\nCMD ["sleep", "600"]\n',
  })
  const containers: MetricTargetContainer[] = []
  for (let index = 0; index < count; index += 1) {
    const spec = installation.spec(image, { port: null })
    await engine.apply(spec)
    containers.push({ name: spec.name, engine, cpuMillicores: 500, memoryMb: 512, startedAt: null })
  }
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bench-'))
  const store = new MetricStore({ dir, periodMs, log })
  await store.open(() => true)
  const samples = containers.map((container, index) => ({
    appEnvId: `env_${index}`,
    containers: [container],
    hasIngress: false,
    runs: true,
  }))
  const ingress = new IngressCounter(periodMs)
  const sampler = new Sampler({ clock: systemClock, log, store, ingress, environments: () => samples })
  await sampler.sample()
  const turns: number[] = []
  const cpuBefore = process.cpuUsage()
  for (let turn = 0; turn < 20; turn += 1) {
    const startMs = performance.now()
    await sampler.sample()
    turns.push(performance.now() - startMs)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const cpu = process.cpuUsage(cpuBefore)
  const cpuMs = (cpu.user + cpu.system) / 1_000 / turns.length
  say(
    `sampling ${count} containers`,
    `${median(turns).toFixed(1)} ms a turn, ${cpuMs.toFixed(1)} ms of CPU here`,
  )
  await installation.destroy()
  rmSync(dir, { recursive: true, force: true })
}

async function keepingAndReading(): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bench-'))
  const store = new MetricStore({ dir, periodMs, log })
  await store.open(() => true)
  const startMs = Math.floor(Date.now() / 300_000) * 300_000 - 24 * 3_600_000
  const turns: number[] = []
  // One environment for a day, then all of them for two hours and a little.
  for (let turn = 1; turn <= 8_640 - 740; turn += 1)
    await store.append(startMs + turn * periodMs, [sample(0, turn)])
  for (let turn = 8_640 - 739; turn <= 8_640; turn += 1) {
    const samples = Array.from({ length: environments }, (_, index) => sample(index, turn))
    const beginMs = performance.now()
    await store.append(startMs + turn * periodMs, samples)
    turns.push(performance.now() - beginMs)
  }
  turns.sort((a, b) => a - b)
  say(
    `keeping ${environments} environments, 50 response times each`,
    `${median(turns).toFixed(1)} ms a turn, worst ${turns.at(-1)!.toFixed(0)} ms`,
  )
  say('two hours of them', `${mb(store.memoryBytes)} MB in memory, ${mb(bytesIn(dir))} MB on disk`)
  const toMs = startMs + 8_640 * periodMs
  const read = async (what: string, metric: Metric, rangeMs: number, stepMs: number, rounds: number) => {
    const query = { appEnvId: 'env_0', metric, fromMs: toMs - rangeMs, toMs, stepMs }
    const beginMs = performance.now()
    for (let round = 0; round < rounds; round += 1) await store.series(query)
    say(what, `${((performance.now() - beginMs) / rounds).toFixed(3)} ms`)
  }
  await read('alert window of 10 min, cpu_percent', 'cpu_percent', 600_000, 600_000, 5_000)
  await read('alert window of 10 min, p95 latency', 'ingress_p95_latency', 600_000, 600_000, 5_000)
  await read('series of 2 h at 10 s, cpu_percent', 'cpu_percent', 7_200_000, 10_000, 200)
  await read('series of 2 h at 10 s, p95 latency', 'ingress_p95_latency', 7_200_000, 10_000, 200)
  await read('series of 24 h at 5 min, p95 latency', 'ingress_p95_latency', 86_400_000, 300_000, 100)
  const beginMs = performance.now()
  const again = new MetricStore({ dir, periodMs, log })
  await again.open(() => true)
  say('reading it all after a restart', `${(performance.now() - beginMs).toFixed(0)} ms`)
  rmSync(dir, { recursive: true, force: true })
}

function sample(index: number, turn: number) {
  const latency: Record<string, number> = {}
  for (let request = 0; request < 50; request += 1) {
    const bucket = bucketOf(2 + ((request * 37 + turn * 11 + index) % 90))
    latency[bucket] = (latency[bucket] ?? 0) + 1
  }
  const container = {
    cpuMillicores: (turn + index) % 500,
    cpuLimitMillicores: 500,
    memoryMb: 90,
    memoryLimitMb: 512,
  }
  const ingress = { seconds: 10, requests: 50, answered4xx: 1, answered5xx: 0, latency }
  return { appEnvId: `env_${index}`, containers: [container], ingress }
}

function bytesIn(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0)
}

function mb(bytes: number): string {
  return (bytes / 1_048_576).toFixed(1)
}

function say(what: string, figure: string): void {
  process.stdout.write(`${what.padEnd(52)} ${figure}\n`)
}
