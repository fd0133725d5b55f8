import { createMask, type Mask } from '../../../domain/environments/secret-masker.ts'
import { type EngineLogLine, shortestBuildSecret } from '../../engine.ts'
import { ErrorExcerpt } from '../../error-excerpt.ts'

/** The build log of one build: stamps the lines and masks the secret build arguments. */
export class BuildLog {
  readonly #onLog: (line: EngineLogLine) => void
  readonly mask: Mask
  readonly #excerpt = new ErrorExcerpt()

  constructor(onLog: (line: EngineLogLine) => void, secrets: readonly string[]) {
    this.#onLog = onLog
    this.mask = createMask(secrets, shortestBuildSecret)
  }

  say(message: string): void {
    this.#emit('stdout', message)
  }

  /** Logs a line printed by a RUN. */
  output(stream: 'stdout' | 'stderr', message: string): void {
    this.#emit(stream, message)
    this.#excerpt.add(this.mask(message))
  }

  /** An excerpt of the RUN output since the last call: lines that name an error first, then the last ones. */
  takeExcerpt(): string[] {
    return this.#excerpt.take()
  }

  #emit(stream: 'stdout' | 'stderr', message: string): void {
    this.#onLog({ timestamp: new Date().toISOString(), stream, message: this.mask(message) })
  }
}
