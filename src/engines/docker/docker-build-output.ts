import { EngineFailure } from '../engine.ts'
import { engineSentence } from './docker-client.ts'
import { remoteAdd } from './remote-add.ts'

/** One line of a build as a person reads it. */
export interface BuildLine {
  stream: 'stdout' | 'stderr'
  message: string
}

/** Lines of the engine's own housekeeping, which say nothing about the source. */
const noise =
  /^(?: ---> (?:Running in )?[0-9a-f]{12}|Removing intermediate container [0-9a-f]+|Successfully (?:built [0-9a-f]+|tagged \S+)|Step \d+\/\d+ : LABEL longshore\..*)$/

/**
 * Reads the classic builder's messages: lines for people, and what the platform needs to know (the image, the images
 * of finished stages, which step failed). Feed it every message in order; `finish` answers or throws.
 */
export class BuildOutput {
  readonly #onLine: (line: BuildLine) => void
  #rest = ''
  #restIsError = false
  #step: { title: string; instruction: string } | null = null
  #baseOfStage: string | null = null
  #lastImage: string | null = null
  #image: string | null = null
  #failure: EngineFailure | null = null
  /** Last image of each stage but the one that became the result, in order. */
  readonly stages: string[] = []
  /** The engine fetched something for a step: what it got is in the images of this build. */
  hasDownloads = false

  constructor(onLine: (line: BuildLine) => void) {
    this.#onLine = onLine
  }

  feed(message: Record<string, unknown>): void {
    if (typeof message.stream === 'string') this.#text(message.stream)
    else if (typeof message.error === 'string') this.#fail(message)
    else if (typeof message.status === 'string' && message.progressDetail === undefined) this.#status(message)
    // A layer of a base image has an id; this is a trigger of the base (ONBUILD ADD), which no Dockerfile shows.
    else if (message.status === 'Downloading' && !message.id) this.#downloaded()
    const image = (message.aux as { ID?: unknown } | undefined)?.ID
    if (typeof image === 'string') this.#image = image
  }

  /** The id of the image; throws what failed. Null when the engine stopped talking before the end. */
  finish(): string | null {
    this.#flush()
    if (this.#failure || !this.#image) this.#endStage()
    if (this.#failure) throw this.#failure
    return this.#image
  }

  #text(text: string): void {
    // The builder paints what a step writes to standard error red, which is the only trace of the stream.
    if (text.includes('\u001b[91m')) this.#restIsError = true
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) this.#line(line)
    if (this.#rest === '') this.#restIsError = false
  }

  #line(painted: string): void {
    const message = painted.replace(/\u001b\[[0-9;]*m/g, '').replace(/\r$/, '')
    this.#follow(message)
    if (message === '' || noise.test(message)) return
    this.#onLine({ stream: this.#restIsError ? 'stderr' : 'stdout', message })
  }

  #flush(): void {
    if (this.#rest.replace(/\u001b\[[0-9;]*m/g, '') !== '') this.#line(this.#rest)
    this.#rest = ''
  }

  #status(message: Record<string, unknown>): void {
    this.#onLine({
      stream: 'stdout',
      message: message.id ? `${message.id}: ${message.status}` : String(message.status),
    })
  }

  #follow(line: string): void {
    const step = /^(Step \d+\/\d+) : (\S+)(.*)$/.exec(line)
    if (step) {
      const instruction = step[2]!.toUpperCase()
      if (instruction === 'FROM') this.#endStage()
      this.#step = { title: `${step[1]} "${step[2]}${step[3]}"`, instruction }
    }
    const made = /^ ---> ([0-9a-f]{12})$/.exec(line)?.[1]
    if (made) {
      if (this.#step?.instruction === 'FROM') this.#baseOfStage = made
      this.#lastImage = made
    }
  }

  #endStage(): void {
    if (this.#lastImage && this.#lastImage !== this.#baseOfStage) this.stages.push(this.#lastImage)
    this.#lastImage = null
    this.#baseOfStage = null
  }

  #downloaded(): void {
    this.hasDownloads = true
    this.#failure ??= remoteAdd('of the base image')
  }

  #fail(message: Record<string, unknown>): void {
    this.#flush()
    this.#failure = buildFailure(String(message.error), this.#step)
    this.#onLine({ stream: 'stderr', message: engineSentence(message.error) })
  }
}

/** Why a build failed, from what the builder says and the step it was at (null before the first). */
export function buildFailure(
  said: string,
  step: { title: string; instruction: string } | null,
): EngineFailure {
  const sentence = engineSentence(said)
  const code = /returned a non-zero code: (\d+)/.exec(said)?.[1]
  if (step && code !== undefined) {
    const hint =
      code === '137' ? ' It was killed, most likely because it took more memory than a build may.' : ''
    return new EngineFailure(
      'build step',
      `${step.title} failed with exit code: ${code}.${hint} The build log has its output.`,
    )
  }
  if (
    /pull access denied|manifest (?:for .* not found|unknown)|repository .* not found|no match for platform/i.test(
      said,
    ) ||
    (step?.instruction === 'FROM' && !/invalid reference|parse/i.test(said))
  ) {
    return new EngineFailure(
      'image pull',
      `${step?.title ?? 'FROM'} failed: ${sentence.replace(/\.?$/, '.')} Check the name and the tag, and that the registry can be reached.`,
    )
  }
  return new EngineFailure(
    'build step',
    step ? `${step.title} failed: ${sentence}` : `The Dockerfile was refused: ${sentence}`,
  )
}
