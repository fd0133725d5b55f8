import type { EngineLogLine } from '../engine.ts'

/** A shorter value is in too many words: the log would be all stars, and still tell it. */
const shortestMasked = 4

/** The build log of one build: stamps the lines and masks the secret build arguments. */
export class BuildLog {
  readonly #onLog: (line: EngineLogLine) => void
  readonly #secrets: readonly string[]
  readonly #last: string[] = []

  constructor(onLog: (line: EngineLogLine) => void, secrets: readonly string[]) {
    this.#onLog = onLog
    // Longest first: a secret that begins with another one must not be masked in part. Of a secret with
    // several lines, each line is masked, as output comes line by line.
    this.#secrets = [...new Set(secrets.flatMap((secret) => [secret, ...secret.split(/\r?\n/)]))]
      .filter((secret) => secret.trim().length >= shortestMasked)
      .sort((a, b) => b.length - a.length)
  }

  mask(text: string): string {
    return this.#secrets.reduce((masked, secret) => masked.replaceAll(secret, '***'), text)
  }

  say(message: string): void {
    this.#emit('stdout', message)
  }

  /** A line a RUN printed. */
  output(stream: 'stdout' | 'stderr', message: string): void {
    this.#emit(stream, message)
    this.#last.push(this.mask(message))
    if (this.#last.length > 8) this.#last.shift()
  }

  /** The last lines RUN printed since the last call. */
  takeLast(): string[] {
    return this.#last.splice(0)
  }

  #emit(stream: 'stdout' | 'stderr', message: string): void {
    this.#onLog({ timestamp: new Date().toISOString(), stream, message: this.mask(message) })
  }
}
