import { sampledMetrics } from '../contract/metrics.ts'
import { Accumulator } from './accumulator.ts'
import { LatencyCounts } from './latency-counts.ts'
import type { ContainerSample, Sample } from './sample.ts'

/**
 * A record has all fifteen sampled metrics of one environment, of one sample or of several merged ones ("spread");
 * the same bytes in memory and on disk, little-endian:
 *
 *   u16 length, u8 flags, u8 0, f64 t
 *   [ingress]    f32 seconds
 *   [resources]  f32 x 4: percent and usage of the only container of one sample; or, spread: f32 weight in
 *                samples, f32 weight in containers, then mean, min, max, last of each of the eight metrics
 *   [traffic]    u32 requests, answered, answered4xx, answered5xx; f32 p95, p99 in seconds; or, spread: min,
 *                max, last of each of the seven metrics; then the latency counts to the end
 */
const flag = { ingress: 1, resources: 2, resourcesSpread: 4, traffic: 8, trafficSpread: 16 } as const

const resourceMetrics = sampledMetrics.slice(0, 8)
const ingressMetrics = sampledMetrics.slice(8)
const headBytes = 12
const largestCount = 0xffff_ffff

export function recordLength(view: DataView, at: number): number {
  return view.getUint16(at, true)
}

export function recordTime(view: DataView, at: number): number {
  return view.getFloat64(at + 4, true)
}

/** Null if nothing was measured. */
export function encodeSample(t: number, sample: Sample): Uint8Array | null {
  const { containers, ingress } = sample
  if (containers.length === 0 && !ingress) return null
  const writer = new Writer(t)
  if (ingress) writer.flag(flag.ingress).f32(ingress.seconds)
  if (containers.length === 1) writer.flag(flag.resources).floats(measuresOf(containers).slice(0, 4))
  if (containers.length > 1) writeSeveral(writer, containers)
  if (ingress && (ingress.requests > 0 || Object.keys(ingress.latency).length > 0)) {
    const latency = new LatencyCounts()
    latency.addCounts(ingress.latency)
    const { requests, answered4xx, answered5xx } = ingress
    writer.flag(flag.traffic).counts([requests, latency.total, answered4xx, answered5xx])
    writer.floats([latency.quantileSeconds(0.95), latency.quantileSeconds(0.99)]).bytes(latency.encode())
  }
  return writer.done()
}

/** Percent and usage of all containers together, in the order of the metrics. */
function measuresOf(containers: readonly ContainerSample[]): number[] {
  const sum = (of: (one: ContainerSample) => number) => containers.reduce((total, one) => total + of(one), 0)
  const cpu = sum((one) => one.cpuMillicores)
  const memory = sum((one) => one.memoryMb)
  const cpuLimit = sum((one) => one.cpuLimitMillicores)
  const memoryLimit = sum((one) => one.memoryLimitMb)
  return [percent(cpu, cpuLimit), percent(memory, memoryLimit), cpu, memory]
}

function writeSeveral(writer: Writer, containers: readonly ContainerSample[]): void {
  writer.flag(flag.resources | flag.resourcesSpread).floats([1, containers.length])
  for (const value of measuresOf(containers)) writer.floats([value, value, value, value])
  const each = containers.map((one) => measuresOf([one]))
  for (let metric = 0; metric < 4; metric += 1) {
    const values = each.map((measures) => measures[metric]!)
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length
    writer.floats([mean, Math.min(...values), Math.max(...values), mean])
  }
}

function percent(part: number, whole: number): number {
  return whole > 0 ? (100 * part) / whole : 0
}

/** Merges several records into one that ends at `t`. Null if there are none. */
export function mergeRecords(
  t: number,
  records: readonly { view: DataView; at: number }[],
): Uint8Array | null {
  if (records.length === 0) return null
  const all = new Map(sampledMetrics.map((metric) => [metric, new Accumulator(metric)]))
  const totals = { seconds: 0, samples: 0, pods: 0, counts: [0, 0, 0, 0] }
  for (const { view, at } of records) {
    for (const accumulator of all.values()) accumulate(accumulator, view, at)
    addTotals(totals, view, at)
  }
  const writer = new Writer(t)
  if (totals.seconds > 0) writer.flag(flag.ingress).f32(totals.seconds)
  if (totals.samples > 0) {
    writer.flag(flag.resources | flag.resourcesSpread).floats([totals.samples, totals.pods])
    for (const metric of resourceMetrics) writer.floats(spreadOf(all.get(metric)!))
  }
  if (totals.counts.some((count) => count > 0)) {
    writer.flag(flag.traffic | flag.trafficSpread).counts(totals.counts)
    for (const metric of ingressMetrics) writer.floats(spreadOf(all.get(metric)!).slice(1))
    writer.bytes(all.get('ingress_p95_latency')!.latency!.encode())
  }
  return writer.done()
}

function spreadOf(accumulator: Accumulator): number[] {
  const point = accumulator.point(0)
  return point ? [point.value, point.min, point.max, point.last] : [0, 0, 0, 0]
}

function addTotals(
  totals: { seconds: number; samples: number; pods: number; counts: number[] },
  view: DataView,
  at: number,
): void {
  const flags = view.getUint8(at + 2)
  let next = at + headBytes
  if (flags & flag.ingress) {
    totals.seconds += view.getFloat32(next, true)
    next += 4
  }
  if (flags & flag.resources) {
    const spread = (flags & flag.resourcesSpread) !== 0
    totals.samples += spread ? view.getFloat32(next, true) : 1
    totals.pods += spread ? view.getFloat32(next + 4, true) : 1
    next += resourceBytes(flags)
  }
  if (!(flags & flag.traffic)) return
  for (let index = 0; index < 4; index += 1) totals.counts[index]! += view.getUint32(next + 4 * index, true)
}

function resourceBytes(flags: number): number {
  if (!(flags & flag.resources)) return 0
  return flags & flag.resourcesSpread ? 8 + 8 * 16 : 16
}

/** Adds a record's values of one metric. */
export function accumulate(into: Accumulator, view: DataView, at: number): void {
  const flags = view.getUint8(at + 2)
  const t = recordTime(view, at)
  const resourcesAt = at + headBytes + (flags & flag.ingress ? 4 : 0)
  if (into.index < 8) {
    if (flags & flag.resources) addResource(into, view, resourcesAt, flags, t)
    return
  }
  if (!(flags & flag.ingress)) return
  const seconds = view.getFloat32(at + headBytes, true)
  if (flags & flag.traffic) addTraffic(into, view, at, resourcesAt + resourceBytes(flags), seconds, t)
  else into.addQuiet(seconds, t)
}

function addResource(into: Accumulator, view: DataView, at: number, flags: number, t: number): void {
  if (!(flags & flag.resourcesSpread)) {
    const value = view.getFloat32(at + 4 * (into.index % 4), true)
    into.add(value, 1, value, value, value, t)
    return
  }
  const weight = view.getFloat32(into.index < 4 ? at : at + 4, true)
  const cell = at + 8 + 16 * into.index
  into.add(
    view.getFloat32(cell, true),
    weight,
    view.getFloat32(cell + 4, true),
    view.getFloat32(cell + 8, true),
    view.getFloat32(cell + 12, true),
    t,
  )
}

function addTraffic(
  into: Accumulator,
  view: DataView,
  recordAt: number,
  at: number,
  seconds: number,
  t: number,
): void {
  const [requests, answered, answered4xx, answered5xx] = [0, 4, 8, 12].map((offset) =>
    view.getUint32(at + offset, true),
  ) as [number, number, number, number]
  const spread = (view.getUint8(recordAt + 2) & flag.trafficSpread) !== 0
  const cells = at + 16
  const { value, weight } = into.ofTraffic({ seconds, requests, answered, answered4xx, answered5xx })
  if (weight === 0) {
    into.addQuiet(seconds, t)
    return
  }
  if (spread) {
    const cell = cells + 12 * (into.index - 8)
    const [min, max, last] = [0, 4, 8].map((offset) => view.getFloat32(cell + offset, true)) as [
      number,
      number,
      number,
    ]
    into.add(value, weight, min, max, last, t)
  } else {
    const own = into.index < 13 ? value : view.getFloat32(cells + 4 * (into.index - 13), true)
    into.add(own, weight, own, own, own, t)
  }
  if (!into.latency) return
  const bytes = new Uint8Array(view.buffer, view.byteOffset)
  into.latency.addEncoded(bytes, cells + (spread ? 84 : 8), recordAt + recordLength(view, recordAt))
}

/** Writes a record piece by piece. */
class Writer {
  #view = new DataView(new ArrayBuffer(512))
  #at = headBytes
  #flags = 0

  constructor(t: number) {
    this.#view.setFloat64(4, t, true)
  }

  flag(bits: number): this {
    this.#flags |= bits
    return this
  }

  f32(value: number): this {
    this.#view.setFloat32(this.#at, value, true)
    this.#at += 4
    return this
  }

  floats(values: readonly number[]): this {
    for (const value of values) this.f32(value)
    return this
  }

  counts(values: readonly number[]): this {
    for (const value of values) {
      this.#view.setUint32(this.#at, Math.min(largestCount, Math.round(value)), true)
      this.#at += 4
    }
    return this
  }

  bytes(bytes: Uint8Array): this {
    const needed = this.#at + bytes.length
    if (needed > this.#view.byteLength) {
      const larger = new Uint8Array(needed)
      larger.set(new Uint8Array(this.#view.buffer))
      this.#view = new DataView(larger.buffer)
    }
    new Uint8Array(this.#view.buffer).set(bytes, this.#at)
    this.#at = needed
    return this
  }

  done(): Uint8Array {
    this.#view.setUint16(0, this.#at, true)
    this.#view.setUint8(2, this.#flags)
    return new Uint8Array(this.#view.buffer.slice(0, this.#at))
  }
}
