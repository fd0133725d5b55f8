import { setMaxListeners } from 'node:events'
import type { Agent } from 'undici'
import type { Clock } from '../../clock.ts'
import type { ProbeLevel } from '../../contract/function-probe.ts'
import { type ProbeOrder, type ProbeOutcome, probeSteps } from '../../domain/functions/probe.ts'
import { AppError } from '../../errors.ts'
import { childOf } from '../../trace.ts'

const limitMs = 20_000
const atOnce = 2
const lookEveryMs = 50

interface ProberDeps {
  clock: Clock
  ingress: () => { host: string; port: number }
  /** Number of running containers of an environment. */
  running: (appEnvId: string) => Promise<number>
}

interface Answered {
  seconds: number
  kind: 'ok' | 'answered4xx' | 'answered5xx' | 'refused' | 'failed'
}

/**
 * Sends probe requests through the gateway, like any client; at most two probes in the installation and one per
 * function.
 */
export class HttpProber {
  readonly #deps: ProberDeps
  readonly #probed = new Set<string>()

  constructor(deps: ProberDeps) {
    this.#deps = deps
  }

  /** Resolves within little more than 20 s; throws an `AppError` if another probe is in progress. */
  async probe(order: ProbeOrder): Promise<ProbeOutcome> {
    this.#admit(order.appEnvId)
    try {
      // Loaded with the first probe: the library costs a tenth of the start of a control plane.
      const { Agent } = await import('../../http-client.ts')
      const agent = new Agent({ connections: order.concurrency, pipelining: 1, headersTimeout: limitMs })
      return await new Probe(this.#deps, order, agent).run()
    } finally {
      this.#probed.delete(order.appEnvId)
    }
  }

  #admit(appEnvId: string): void {
    if (this.#probed.has(appEnvId) || this.#probed.size >= atOnce) {
      throw new AppError('conflict', 'A probe is in progress', {
        details: 'Only one probe per function and two in total can run at once. Try again in 20 seconds.',
        retryAfterSeconds: 20,
      })
    }
    this.#probed.add(appEnvId)
  }
}

class Probe {
  readonly #deps: ProberDeps
  readonly #order: ProbeOrder
  readonly #agent: Agent
  readonly #startedMs: number
  readonly #limit = new AbortController()
  #sent = 0
  #most = 0
  #mostOfStep = 0

  constructor(deps: ProberDeps, order: ProbeOrder, agent: Agent) {
    this.#deps = deps
    this.#order = order
    this.#agent = agent
    this.#startedMs = deps.clock.monotonicMs()
    // Every request in flight listens to the limit: more than the ten listeners that Node warns about.
    setMaxListeners(0, this.#limit.signal)
  }

  async run(): Promise<ProbeOutcome> {
    const { clock } = this.#deps
    const cancel = clock.after(limitMs, () => this.#limit.abort())
    try {
      const containersBefore = await this.#look()
      const first = await this.#ask()
      const loadStartedMs = clock.monotonicMs()
      const levels = await this.#levels()
      const endMs = clock.monotonicMs()
      return {
        containersBefore,
        mostContainers: this.#most,
        first: { seconds: rounded(first.seconds), ok: first.kind === 'ok' || first.kind === 'answered4xx' },
        levels,
        loadSeconds: (endMs - loadStartedMs) / 1_000,
        tookSeconds: rounded((endMs - this.#startedMs) / 1_000),
        cutShort: this.#limit.signal.aborted,
      }
    } finally {
      cancel()
      await this.#agent.destroy()
    }
  }

  async #levels(): Promise<ProbeLevel[]> {
    const levels: ProbeLevel[] = []
    const steps = probeSteps(this.#order.concurrency)
    for (const [index, concurrency] of steps.entries()) {
      // Requests are distributed by concurrency, so that each step takes about as long.
      const rest = steps.slice(index).reduce((sum, step) => sum + step, 0)
      const left = this.#order.requests - this.#sent
      const requests = index === steps.length - 1 ? left : Math.ceil((left * concurrency) / rest)
      if (requests <= 0 || this.#limit.signal.aborted) break
      levels.push(await this.#level(Math.min(concurrency, requests), requests))
    }
    return levels
  }

  async #level(concurrency: number, requests: number): Promise<ProbeLevel> {
    const { clock } = this.#deps
    this.#mostOfStep = 0
    let looking = true
    const looks = (async () => {
      while (looking) {
        await this.#look()
        if (looking) await new Promise<void>((resolve) => void clock.after(lookEveryMs, resolve))
      }
    })()
    const startedMs = clock.monotonicMs()
    const answers: Answered[] = []
    let begun = 0
    const worker = async () => {
      while (begun < requests && !this.#limit.signal.aborted) {
        begun += 1
        const answer = await this.#ask()
        // Requests that the time limit aborted do not characterize the function.
        if (!this.#limit.signal.aborted) answers.push(answer)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, worker))
    const tookSeconds = (clock.monotonicMs() - startedMs) / 1_000
    looking = false
    await this.#look()
    await looks
    return levelOf(concurrency, answers, tookSeconds, this.#mostOfStep)
  }

  async #look(): Promise<number> {
    const running = await this.#deps.running(this.#order.appEnvId)
    this.#most = Math.max(this.#most, running)
    this.#mostOfStep = Math.max(this.#mostOfStep, running)
    return running
  }

  async #ask(): Promise<Answered> {
    this.#sent += 1
    const { clock, ingress } = this.#deps
    const { host, port } = ingress()
    const { traceparent } = this.#order
    const startedMs = clock.monotonicMs()
    const seconds = () => (clock.monotonicMs() - startedMs) / 1_000
    try {
      const answer = await this.#agent.request({
        origin: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
        path: this.#order.path,
        method: 'GET',
        headers: {
          host: this.#order.host,
          'user-agent': 'longshore-probe',
          ...(traceparent && { traceparent: childOf(traceparent) }),
        },
        signal: this.#limit.signal,
      })
      await answer.body.dump({ limit: 64 * 1_048_576 })
      return { seconds: seconds(), kind: kindOf(answer.statusCode, 'retry-after' in answer.headers) }
    } catch {
      return { seconds: seconds(), kind: 'failed' }
    }
  }
}

function kindOf(status: number, retryRequested: boolean): Answered['kind'] {
  if (status === 503 && retryRequested) return 'refused'
  if (status >= 500) return 'answered5xx'
  return status >= 400 ? 'answered4xx' : 'ok'
}

function levelOf(
  concurrency: number,
  answers: readonly Answered[],
  tookSeconds: number,
  containers: number,
): ProbeLevel {
  const times = answers.map((answer) => answer.seconds).sort((a, b) => a - b)
  const at = (share: number) => rounded(times[Math.ceil(share * times.length) - 1] ?? 0)
  const count = (kind: Answered['kind']) => answers.filter((answer) => answer.kind === kind).length
  return {
    concurrency,
    requests: answers.length,
    ok: count('ok'),
    answered4xx: count('answered4xx'),
    answered5xx: count('answered5xx'),
    refused: count('refused'),
    failed: count('failed'),
    requestsPerSecond: rounded(tookSeconds > 0 ? answers.length / tookSeconds : 0),
    p50Seconds: at(0.5),
    p95Seconds: at(0.95),
    containers,
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(3))
}
