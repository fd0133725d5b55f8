import { cutLine, longestBuildLine } from '../../domain/environments/log-lines.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import type { AppError } from '../../errors.ts'
import { Pacer } from '../../pacer.ts'
import { remoteAdd } from '../dockerfile/remote-add.ts'
import { EngineFailure } from '../engine.ts'
import { ErrorExcerpt } from '../error-excerpt.ts'
import { lastOf, mostOfStep, OutputLimit, type OutputLine } from '../output-limit.ts'
import { engineAway, engineSentence } from './client.ts'

/** Limit for a whole build: a program can print text that looks like the beginning of a step. */
const mostOfBuild = 4 * mostOfStep

/** A mask compares a character at most this many times. */
const comparesPerCharacter = 8

/** The engine's own housekeeping output, irrelevant to the source. */
const noise =
  /^(?: ---> (?:Running in )?[0-9a-f]{12}|Removing intermediate container [0-9a-f]+|Successfully (?:built [0-9a-f]+|tagged \S+)|Step \d+\/\d+ : LABEL longshore\..*)$/

const isStep = /^(Step \d+\/\d+) : (\S+)(.*)$/

/** Errors of an engine that lost its connection to this platform or its own helper; unrelated to the source. */
const lostConnection = /\bcontext canceled$|transport is closing|error reading from server: EOF/

/**
 * What the engine says when another image was removed together with a layer that this build had just started to use; each
 * was seen.
 */
const lostLayer =
  /unknown parent image|failed to set parent|unable to find image "\(id\)"|failed to get digest \(id\).*no such file/

/** Whether a build failed because a layer of the build cache was removed meanwhile. */
export function hasLostLayer({ message }: EngineFailure): boolean {
  return lostLayer.test(message)
}

/**
 * Parses the classic builder's messages into log lines and results (the image, the images of finished stages, the
 * failed step). Pass every message in order; `finish` returns or throws.
 */
export class BuildOutput {
  readonly #onLine: (line: OutputLine) => void
  readonly #output: OutputLimit
  readonly #mask: Mask
  #rest = ''
  #restIsError = false
  #step: { title: string; instruction: string } | null = null
  #baseOfStage: string | null = null
  #lastImage: string | null = null
  #image: string | null = null
  #failure: EngineFailure | AppError | null = null
  readonly #excerpt = new ErrorExcerpt()
  /** The last image of each stage except the final one, in order. */
  readonly stages: string[] = []
  /** The container of the current step; null before its first and where the engine does not name it. */
  stepContainer: string | null = null
  /** The engine downloaded something for a step, and the images of this build contain it. */
  hasDownloads = false

  /** `mask` hides secrets in the quotes of a failure, before they are cut; the log masks its lines itself. */
  constructor(onLine: (line: OutputLine) => void, mask: Mask = (line) => line) {
    this.#onLine = onLine
    this.#output = new OutputLimit(mostOfBuild, onLine)
    this.#mask = mask
  }

  /** Takes turns with other work: programs print as fast as they can. */
  async feedAll(messages: AsyncIterable<Record<string, unknown>>): Promise<void> {
    const pacer = new Pacer()
    for await (const message of messages) {
      this.feed(message)
      await pacer.after(comparesPerCharacter * String(message.stream ?? '').length)
    }
  }

  feed(message: Record<string, unknown>): void {
    if (typeof message.stream === 'string') this.#text(message.stream)
    else if (typeof message.error === 'string') this.#fail(message)
    else if (typeof message.status === 'string' && message.progressDetail === undefined) this.#status(message)
    // A layer of a base image has an id; without one it is a trigger of the base image (ONBUILD ADD).
    else if (message.status === 'Downloading' && !message.id) this.#downloaded()
    const image = (message.aux as { ID?: unknown } | undefined)?.ID
    if (typeof image === 'string') this.#image = image
  }

  /** Returns the id of the image or throws the failure. Null if the engine's output ended early. */
  finish(): string | null {
    this.#flush()
    this.#output.end()
    if (this.#failure || !this.#image) this.#endStage()
    if (this.#failure) throw this.#failure
    return this.#image
  }

  #text(text: string): void {
    // The builder prints a step's standard error in red, the only way to distinguish the streams.
    if (text.includes('\u001b[91m')) this.#restIsError = true
    const lines = text.split('\n')
    lines[0] = this.#rest + lines[0]
    // One character more than a line may have, so that cutting it can be detected.
    this.#rest = (lines.pop() ?? '').slice(0, longestBuildLine + 1)
    // The builder's own messages arrive one at a time, so this cut never drops one.
    for (const line of this.#output.isReached ? lastOf(lines) : lines)
      this.#line(cutLine(line, longestBuildLine))
    if (this.#rest === '') this.#restIsError = false
  }

  #line(painted: string): void {
    const message = painted.replace(/\u001b\[[0-9;]*m/g, '').replace(/\r$/, '')
    this.#follow(message)
    if (message === '' || noise.test(message)) return
    if (!isStep.test(message)) this.#excerpt.add(this.#mask(message))
    this.#output.add({ stream: this.#restIsError ? 'stderr' : 'stdout', message })
  }

  #flush(): void {
    if (this.#rest.replace(/\u001b\[[0-9;]*m/g, '') !== '') this.#line(cutLine(this.#rest, longestBuildLine))
    this.#rest = ''
  }

  #status(message: Record<string, unknown>): void {
    this.#onLine({
      stream: 'stdout',
      message: message.id ? `${message.id}: ${message.status}` : String(message.status),
    })
  }

  #follow(line: string): void {
    const step = isStep.exec(line)
    if (step) {
      this.#excerpt.clear()
      this.stepContainer = null
      const instruction = step[2]!.toUpperCase()
      if (instruction === 'FROM') this.#endStage()
      this.#step = { title: this.#mask(`${step[1]} "${step[2]}${step[3]}"`), instruction }
    }
    // The first such line of a step: the program of the step may print others.
    this.stepContainer ??= /^ ---> Running in ([0-9a-f]{12})$/.exec(line)?.[1] ?? null
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
    this.#output.end()
    const text = String(message.error)
    this.#failure = lostConnection.test(text)
      ? engineAway(new Error(text))
      : buildFailure(text, this.#step, this.#excerpt.take())
    this.#onLine({ stream: 'stderr', message: engineSentence(message.error) })
  }
}

/**
 * Explains a failed build from the builder's message, the current step (null before the first) and the step's output.
 */
export function buildFailure(
  text: string,
  step: { title: string; instruction: string } | null,
  excerpt: readonly string[] = [],
): EngineFailure {
  const sentence = engineSentence(text)
  const code = /returned a non-zero code: (\d+)/.exec(text)?.[1]
  if (step && code !== undefined) {
    const hint =
      code === '137' ? ' It was killed, most likely because it took more memory than a build may.' : ''
    return new EngineFailure(
      'build step',
      `${shortTitle(step.title)} failed with exit code: ${code}.${hint}${excerpt.length > 0 ? `\n${excerpt.join('\n')}` : ' It printed nothing.'}`,
    )
  }
  if (
    /pull access denied|manifest (?:for .* not found|unknown)|repository .* not found|no match for platform/i.test(
      text,
    ) ||
    (step?.instruction === 'FROM' && !/invalid reference|parse/i.test(text))
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

/** Shortens the title: the lines that name the error come after it, and many readers see only the beginning. */
function shortTitle(title: string): string {
  return title.length > 200 ? `${title.slice(0, 200)}…"` : title
}
