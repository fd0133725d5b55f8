import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import type { Metric } from '../../src/contract/metrics.ts'
import { createLog } from '../../src/log.ts'
import { bucketOf } from '../../src/metrics/histogram.ts'
import type { Sample } from '../../src/metrics/sample.ts'
import { MetricStore } from '../../src/metrics/store.ts'

const log = createLog('test', 'silent')
export const periodMs = 10_000
export const startMs = Date.UTC(2026, 0, 5)
export const minuteMs = 60_000
export const hourMs = 60 * minuteMs
const everything = () => true

export function newDir(): string {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-metrics-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

export async function openStore(
  dir = newDir(),
  exists: (id: string) => boolean = everything,
): Promise<MetricStore> {
  const store = new MetricStore({ dir, periodMs, log })
  await store.open(exists)
  return store
}

export function container(cpuMillicores: number, memoryMb: number) {
  return { cpuMillicores, cpuLimitMillicores: 500, memoryMb, memoryLimitMb: 512 }
}

export function traffic(latenciesMs: number[], answered4xx = 0, answered5xx = 0) {
  const latency: Record<string, number> = {}
  for (const ms of latenciesMs) latency[bucketOf(ms)] = (latency[bucketOf(ms)] ?? 0) + 1
  return { seconds: 10, requests: latenciesMs.length, answered4xx, answered5xx, latency }
}

export function sample(containers: Sample['containers'], ingress: Sample['ingress'] = null): Sample {
  return { appEnvId: 'env_a', containers, ingress }
}

/** One value of a metric over a range. */
export async function over(store: MetricStore, metric: Metric, fromMs: number, toMs: number) {
  const points = await store.series({ appEnvId: 'env_a', metric, fromMs, toMs, stepMs: toMs - fromMs })
  return points[0] ?? null
}

/** Appends `turns` samples made by `make`. */
export async function run(store: MetricStore, turns: number, make: (turn: number) => Sample[], first = 1) {
  for (let turn = first; turn < first + turns; turn += 1) {
    await store.append(startMs + turn * periodMs, make(turn))
  }
}

export const uneven = (turn: number): Sample[] => [
  sample(
    turn % 5 === 0
      ? [container(turn % 400, 100), container(turn % 50, 200)]
      : [container(turn % 300, 100 + (turn % 90))],
    traffic(Array(turn % 7).fill(1 + (turn % 40)), turn % 3 === 0 ? Math.min(1, turn % 7) : 0, 0),
  ),
]
