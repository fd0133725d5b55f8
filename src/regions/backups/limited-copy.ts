import { Transform, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Cancel, Clock } from '../../clock.ts'
import type { CopyLimits } from '../../domain/backups/backup.ts'
import { EngineFailure } from '../../engines/engine.ts'
import { tooLarge } from '../../engines/volume-tar.ts'

/** A copy that ends when it takes too long or becomes too large, when it is not wanted any more, and with the program. */
export class LimitedCopy {
  readonly signal: AbortSignal
  readonly #limits: CopyLimits
  readonly #clock: Clock
  readonly #abort = new AbortController()
  #cancel: Cancel = () => {}

  constructor(limits: CopyLimits, clock: Clock, stopping: AbortSignal) {
    this.#limits = limits
    this.#clock = clock
    this.signal = AbortSignal.any([this.#abort.signal, stopping])
  }

  /** Its time counts from now. */
  begin(): void {
    const { minutes } = this.#limits
    this.#cancel = this.#clock.after(minutes * 60_000, () =>
      this.end(`It took longer than ${minutes} minutes, the most that a copy may take on this installation.`),
    )
  }

  end(reason: string): void {
    this.#abort.abort(new EngineFailure('interrupted', reason))
  }

  close(): void {
    this.#cancel()
  }

  /** Fills `sink` up to the limit, before it is compressed. */
  async fill<T>(sink: Writable, dump: (limited: Writable) => Promise<T>): Promise<T> {
    const { bytes } = this.#limits
    let left = bytes
    const limited = new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        left -= chunk.length
        if (left < 0) this.#abort.abort(tooLarge(bytes))
        done(this.#abort.signal.reason ?? null, chunk)
      },
    })
    const passed = pipeline(limited, sink, { end: false, signal: this.signal })
    const dumped = dump(limited).then(
      (result) => {
        limited.end()
        return result
      },
      (error) => {
        limited.destroy(error)
        throw error
      },
    )
    const [source] = await Promise.allSettled([dumped, passed])
    this.signal.throwIfAborted()
    await passed.catch((error) => {
      throw source.status === 'rejected' ? source.reason : error
    })
    return await dumped
  }
}
