import { StringDecoder } from 'node:string_decoder'
import { cutLine, longestBuildLine } from '../../domain/environments/log-lines.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import { ErrorExcerpt } from '../error-excerpt.ts'
import { withoutSecretMounts } from './dockerfile.ts'

interface Vertex {
  digest: string
  name: string
  started?: string
  completed?: string
  cached?: boolean
  error?: string
}

interface SolveStatus {
  vertexes?: Vertex[]
  logs?: { vertex: string; stream: number; data: string }[]
}

/** A step of the Dockerfile as failures quote it. */
export interface FailedStep {
  /** `Step 2/4 "RUN npm ci"` */
  title: string
  error: string
  excerpt: readonly string[]
}

type OnLine = (message: string, stream: 'stdout' | 'stderr') => void

/** Turns the progress of buildctl (`--progress rawjson`) into log lines, and remembers the step that failed. */
export class BuildProgress {
  readonly #onLine: OnLine
  readonly #mask: Mask
  readonly #steps = new Map<string, Step>()
  #failed: { step: Step; error: string } | null = null

  constructor(onLine: OnLine, mask: Mask) {
    this.#onLine = onLine
    this.#mask = mask
  }

  /** The first step that failed by itself; later ones are only interrupted. To be called once, at the end. */
  takeFailed(): FailedStep | null {
    if (!this.#failed) return null
    const { step, error } = this.#failed
    // The last output of a step may arrive after its error.
    step.flush()
    return { title: step.title ?? '', error: this.#mask(error), excerpt: step.excerpt.take() }
  }

  /** Takes one line of output; false if it is not a message of BuildKit. */
  feed(line: string): boolean {
    if (!line.startsWith('{')) return false
    let status: SolveStatus
    try {
      status = JSON.parse(line) as SolveStatus
    } catch {
      return false
    }
    for (const vertex of status.vertexes ?? []) this.#step(vertex.digest).begin(vertex)
    for (const { vertex, stream, data } of status.logs ?? [])
      this.#step(vertex).output(Buffer.from(data, 'base64'), stream === 2 ? 'stderr' : 'stdout')
    for (const vertex of status.vertexes ?? []) this.#end(vertex)
    return true
  }

  #end({ digest, completed, error }: Vertex): void {
    if (!completed && !error) return
    const step = this.#step(digest)
    step.flush()
    // An error outside a step, such as a cache that does not exist yet, need not end the build.
    if (error && step.title && !/context canceled$/.test(error)) this.#failed ??= { step, error }
  }

  #step(digest: string): Step {
    const known = this.#steps.get(digest)
    if (known) return known
    const step = new Step(this.#onLine, this.#mask)
    this.#steps.set(digest, step)
    return step
  }
}

class Step {
  readonly excerpt = new ErrorExcerpt()
  readonly #onLine: OnLine
  readonly #mask: Mask
  readonly #streams = {
    stdout: { decoder: new StringDecoder('utf8'), rest: '' },
    stderr: { decoder: new StringDecoder('utf8'), rest: '' },
  }
  #printed: 'no' | 'begin' | 'cached' = 'no'
  title: string | null = null

  constructor(onLine: OnLine, mask: Mask) {
    this.#onLine = onLine
    this.#mask = mask
  }

  /** BuildKit repeats a step whenever something about it changes. */
  begin({ name, started, cached }: Vertex): void {
    const [, place, instruction] =
      /^\[(?:stage-\d+ )?((?:\S+ )?\d+\/\d+)\] (.*)$/s.exec(withoutSecretMounts(name)) ?? []
    if (!place || !instruction) return
    this.title = this.#mask(`Step ${place} "${instruction}"`)
    if (started && this.#printed === 'no') {
      this.#onLine(`Step ${place} : ${instruction}`, 'stdout')
      this.#printed = 'begin'
    }
    if (!cached || this.#printed === 'cached') return
    this.#onLine(' ---> Using cache', 'stdout')
    this.#printed = 'cached'
  }

  output(data: Buffer, stream: 'stdout' | 'stderr'): void {
    const state = this.#streams[stream]
    const lines = (state.rest + state.decoder.write(data)).split('\n')
    state.rest = (lines.pop() ?? '').slice(0, longestBuildLine + 1)
    for (const line of lines) this.#line(line, stream)
  }

  flush(): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const state = this.#streams[stream]
      if (state.rest !== '') this.#line(state.rest, stream)
      state.rest = ''
    }
  }

  #line(painted: string, stream: 'stdout' | 'stderr'): void {
    const text = painted.replace(/\u001b\[[0-9;]*m/g, '').replace(/\r$/, '')
    if (text === '') return
    const line = cutLine(text, longestBuildLine)
    this.excerpt.add(this.#mask(line))
    this.#onLine(line, stream)
  }
}
