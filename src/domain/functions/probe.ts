import type { FunctionConfig } from '../../contract/function-config.ts'
import type { ProbeCheck, ProbeLevel } from '../../contract/function-probe.ts'
import { containersNeeded } from './scaling.ts'

/** The raw measurements of a probe. */
export interface ProbeMeasurements {
  containersBefore: number
  mostContainers: number
  /** The single request at the start. */
  first: { seconds: number; ok: boolean }
  levels: readonly ProbeLevel[]
  loadSeconds: number
}

export interface ProbeOrder {
  appEnvId: string
  /** Host name of the function. */
  host: string
  path: string
  /** Total over all steps. */
  requests: number
  /** Maximum of parallel requests. */
  concurrency: number
  /** The trace of its requests; the gateway begins one for each if omitted. */
  traceparent?: string
}

export interface ProbeOutcome extends ProbeMeasurements {
  tookSeconds: number
  cutShort: boolean
}

interface ProbeProposal {
  containerConcurrency: number
  minScale: number
  because: string[]
}

/** A cold start longer than this is noticeable. */
const longColdStartSeconds = 1
/** Latency may double under load, plus this margin for short latencies: timers and other processes cause noise. */
const latencyFactor = 2
const latencyLeewaySeconds = 0.02
/** A requested container may take at least this long before its absence is considered a failure. */
const leastLoadSeconds = 3

/** The load steps: 1, 2, 4 … and finally `most`. */
export function probeSteps(most: number): number[] {
  const steps: number[] = []
  for (let step = 1; step < most; step *= 2) steps.push(step)
  return [...steps, most]
}

/** Slightly more than one container can serve, so that F3 shows; within the limits of a probe. */
export function defaultProbeConcurrency(settings: Pick<FunctionConfig, 'containerConcurrency'>): number {
  return settings.containerConcurrency === 0 ? 50 : Math.min(100, settings.containerConcurrency + 4)
}

export function coldStartSeconds(measured: ProbeMeasurements): number | null {
  return measured.containersBefore === 0 && measured.first.ok ? measured.first.seconds : null
}

/** F1 to F3, as observed by this probe. */
export function probeChecks(measured: ProbeMeasurements, settings: FunctionConfig): ProbeCheck[] {
  return [checkF1(measured, settings), checkF2(measured), checkF3(measured, settings)]
}

function checkF1({ containersBefore }: ProbeMeasurements, settings: FunctionConfig): ProbeCheck {
  if (containersBefore === 0) {
    return { rule: 'F1', holds: true, because: 'It stood at zero containers before the probe.' }
  }
  const why =
    settings.minScale > 0
      ? `minScale keeps ${settings.minScale} running (F11)`
      : `it had requests within the last ${settings.idleTimeoutSeconds} s`
  return {
    rule: 'F1',
    holds: null,
    because: `${containersBefore} running before the probe: ${why}. Probe again when it is idle.`,
  }
}

function checkF2({ containersBefore, first }: ProbeMeasurements): ProbeCheck {
  if (containersBefore > 0) {
    return { rule: 'F2', holds: null, because: 'No cold start: a container was running already.' }
  }
  const took = `${first.seconds} s`
  return first.ok
    ? { rule: 'F2', holds: true, because: `A container was started and the request answered in ${took}.` }
    : { rule: 'F2', holds: false, because: `The first request failed after ${took}; get-logs says why.` }
}

function checkF3(measured: ProbeMeasurements, settings: FunctionConfig): ProbeCheck {
  const most = Math.max(0, ...measured.levels.map((level) => level.concurrency))
  const needed = containersNeeded(most, settings)
  const seen = `${measured.mostContainers} running at ${most} requests at a time`
  if (settings.maxScale < 2) {
    return { rule: 'F3', holds: null, because: 'maxScale is 1: no container may be added.' }
  }
  if (needed < 2) {
    return { rule: 'F3', holds: null, because: `${most} at a time fit one container; raise concurrency.` }
  }
  if (measured.mostContainers > Math.max(1, measured.containersBefore) || measured.mostContainers >= needed) {
    return { rule: 'F3', holds: true, because: `${seen}.` }
  }
  const tooShort = measured.loadSeconds < Math.max(leastLoadSeconds, 2 * measured.first.seconds)
  return tooShort
    ? { rule: 'F3', holds: null, because: `The load was over before one could start; raise requests.` }
    : { rule: 'F3', holds: false, because: `Only ${seen}; ${needed} were needed.` }
}

/** The proposed settings with the numbers behind each. Settings that were not measured stay unchanged. */
export function probeProposal(measured: ProbeMeasurements, settings: FunctionConfig): ProbeProposal {
  const concurrency = proposedConcurrency(measured.levels, settings)
  const warm = proposedMinScale(measured, settings)
  return {
    containerConcurrency: concurrency.value,
    minScale: warm.value,
    because: [concurrency.because, warm.because],
  }
}

function proposedConcurrency(levels: readonly ProbeLevel[], settings: FunctionConfig) {
  const present = settings.containerConcurrency
  const name = `containerConcurrency ${present}`
  const bad = mostlyErrors(levels)
  if (bad) return { value: present, because: `${name} stays: ${bad}` }
  const steady = levels.filter((level, index) => level.containers <= 1 || hadSameContainers(levels, index))
  const calm = steady[0]
  if (calm?.concurrency !== 1 || calm.ok === 0) {
    return { value: present, because: `${name} stays: containers came and went; probe again.` }
  }
  const limit = Math.max(calm.p95Seconds * latencyFactor, calm.p95Seconds + latencyLeewaySeconds)
  const strained = steady.find(
    (level) => level.p95Seconds > limit || level.ok + level.answered4xx < level.requests,
  )
  if (!strained) {
    const last = steady.at(-1) as ProbeLevel
    return {
      value: present,
      because: `${name} stays: one container took ${inOne(last)} at a time with p95 ${last.p95Seconds} s, ${calm.p95Seconds} s alone.`,
    }
  }
  const good = inOne(steady[steady.indexOf(strained) - 1] ?? calm)
  const how = `p95 goes from ${calm.p95Seconds} s alone to ${strained.p95Seconds} s at ${inOne(strained)} at a time in one container`
  if (present !== 0 && good >= present) return { value: present, because: `${name} stays, though ${how}.` }
  return { value: good, because: `containerConcurrency ${good}: ${how}.` }
}

/** Parallel requests per container: they are distributed evenly. */
function inOne({ concurrency, containers }: ProbeLevel): number {
  return Math.ceil(concurrency / Math.max(1, containers))
}

/** Whether the previous step had as many containers: only then is the number that shared the load known. */
function hadSameContainers(levels: readonly ProbeLevel[], index: number): boolean {
  const before = levels[index - 1]
  return !before || before.containers === levels[index]!.containers
}

/** Whether most responses are errors, whose latency does not characterize the function. */
function mostlyErrors(levels: readonly ProbeLevel[]): string | null {
  const sum = (of: (level: ProbeLevel) => number) => levels.reduce((total, level) => total + of(level), 0)
  const requests = sum((level) => level.requests)
  const answered4xx = sum((level) => level.answered4xx)
  const broken = sum((level) => level.answered5xx + level.failed)
  if (answered4xx * 2 > requests)
    return `${answered4xx} of ${requests} were answered 4xx; give a path that serves.`
  if (broken * 2 > requests) return `${broken} of ${requests} failed; get-logs says why.`
  return null
}

function proposedMinScale(measured: ProbeMeasurements, settings: FunctionConfig) {
  const cold = coldStartSeconds(measured)
  const name = `minScale ${settings.minScale}`
  if (cold === null) {
    return { value: settings.minScale, because: `${name} stays: no cold start was seen.` }
  }
  if (cold <= longColdStartSeconds || settings.minScale > 0) {
    return { value: settings.minScale, because: `${name} stays: a cold start takes ${cold} s.` }
  }
  return {
    value: 1,
    because: `minScale 1: a cold start takes ${cold} s. One container is then billed all the time.`,
  }
}
