import type { FailureReason, ListenerReading } from '../../engines/engine.ts'
import { type ListeningSocket, socketText } from '../../engines/listening-sockets.ts'
import { isLoopback } from '../../loopback.ts'

/** Why a running container does not become ready, for `currentDeployment.failure`. */
export interface StartVerdict {
  reason: FailureReason
  message: string
}

/** Where connections are expected: the app's port, and the value of PORT if the engine assigns another one. */
export interface ExpectedPort {
  port: number
  given: number
}

/** The program listens on the expected port, but only on loopback: waiting longer does not help. */
const loopbackMs = 5_000
/** Metrics and debug servers open their ports before a slow app does, so it must also be idle for this long. */
const wrongPortMs = 30_000
/** A listener elsewhere is reported after this time, long before it is a verdict. */
const reportMs = 5_000
/** Share of one CPU that an idle program may use. */
const idleCpu = 0.1

/** Evaluates a container that does not become ready, by successive readings of its listening sockets. */
export class ListenWatch {
  readonly #expected: ExpectedPort
  #last: { sockets: string; sinceMs: number; atMs: number; cpuMs: number } | null = null
  #elsewhereSinceMs: number | null = null
  #isReported = false

  constructor(expected: ExpectedPort) {
    this.#expected = expected
  }

  /** A warning, once, for an app that listens elsewhere so far: it may be wrong, or still starting. */
  report(reading: ListenerReading, nowMs: number): string | null {
    if (!isElsewhere(reading, this.#expected)) this.#elsewhereSinceMs = null
    else this.#elsewhereSinceMs ??= nowMs
    if (this.#isReported || this.#elsewhereSinceMs === null) return null
    if (nowMs - this.#elsewhereSinceMs < reportMs) return null
    this.#isReported = true
    return `The app listens on ${textOf(reading.sockets)}, and not on ${portText(this.#expected)} yet; still waiting.`
  }

  /** `cpuMs` is the CPU time used so far. Returns a verdict once further waiting is useless, otherwise null. */
  judge(reading: ListenerReading, cpuMs: number, nowMs: number): StartVerdict | null {
    const sockets = textOf(reading.sockets)
    const last = this.#last
    const isSteady = last?.sockets === sockets
    const isIdle = last !== null && cpuMs - last.cpuMs <= (nowMs - last.atMs) * idleCpu
    const misplaced = onlyLoopback(reading, this.#expected)
    const sinceMs = last && isSteady && (isIdle || misplaced) ? last.sinceMs : nowMs
    this.#last = { sockets, sinceMs, atMs: nowMs, cpuMs }
    if (reading.unreadable !== undefined) return null
    if (misplaced) return nowMs - sinceMs >= loopbackMs ? loopbackBind(reading, this.#expected) : null
    return isElsewhere(reading, this.#expected) && nowMs - sinceMs >= wrongPortMs
      ? wrongPort(reading, this.#expected)
      : null
  }
}

/** The verdict after the start timeout. */
export function timeoutVerdict(
  reading: ListenerReading | null,
  expected: ExpectedPort,
  timeoutMs: number,
): StartVerdict {
  if (reading && onlyLoopback(reading, expected)) return loopbackBind(reading, expected)
  const listens = reading !== null && reading.sockets.length > 0
  if (listens && !isThere(reading, expected)) return wrongPort(reading, expected)
  const seen = listens
    ? `It listens on ${textOf(reading.sockets)}, but does not answer over IPv4.`
    : reading === null || reading.unreadable !== undefined
      ? `Where it listens could not be seen. ${reading?.unreadable ?? ''}`.trim()
      : 'It listens on no port.'
  return {
    reason: 'start-timeout',
    message: `Nothing accepted connections on ${portText(expected)} within ${timeoutMs / 1_000} seconds. ${seen} ${advice}`,
  }
}

function onlyLoopback(reading: ListenerReading, expected: ExpectedPort): boolean {
  const there = socketsThere(reading, expected)
  return there.length > 0 && !isThere(reading, expected)
}

/** Only a public socket counts as the app's own: debuggers and helpers listen on loopback. */
function isElsewhere(reading: ListenerReading, expected: ExpectedPort): boolean {
  const isPublic = reading.sockets.some(({ address }) => !isLoopback(address))
  return isPublic && reading.unreadable === undefined && socketsThere(reading, expected).length === 0
}

/** Whether it listens on the expected port, publicly. */
function isThere(reading: ListenerReading, expected: ExpectedPort): boolean {
  return socketsThere(reading, expected).some(({ address }) => !isLoopback(address))
}

function socketsThere({ sockets }: ListenerReading, expected: ExpectedPort): ListeningSocket[] {
  return sockets.filter(({ port }) => port === expected.port || port === expected.given)
}

function loopbackBind({ sockets }: ListenerReading, expected: ExpectedPort): StartVerdict {
  return {
    reason: 'loopback-bind',
    message: `The app listens on ${textOf(sockets)}, but 127.0.0.1 and ::1 are reachable only from inside the container. Expected: ${portText(expected)} on all interfaces. Listen on 0.0.0.0.`,
  }
}

function wrongPort({ sockets }: ListenerReading, expected: ExpectedPort): StartVerdict {
  return {
    reason: 'wrong-port',
    message: `The app listens on ${textOf(sockets)}. Expected: ${portText(expected)} on all interfaces. ${advice}`,
  }
}

const advice = 'Listen on 0.0.0.0 and the port in the PORT variable; get-logs shows the output.'

function portText({ port, given }: ExpectedPort): string {
  return given === port ? `port ${port}` : `port ${port} (here PORT=${given})`
}

/** The same text for the same sockets in any order; shortened if there are many. */
function textOf(sockets: readonly ListeningSocket[]): string {
  const texts = [...new Set(sockets.map(socketText))].sort()
  return texts.length > 8 ? `${texts.slice(0, 8).join(', ')} and ${texts.length - 8} more` : texts.join(', ')
}
