import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Header, pack } from 'tar-stream'
import type { VolumeCopies, VolumeSpec } from '../../src/engines/volume-copies.ts'
import { eachEntry } from '../../src/engines/volume-tar.ts'
import { AppError } from '../../src/errors.ts'
import type { FakeFaults } from './faults.ts'
import type { FakeHost } from './host.ts'

/** Volumes of the fake engine are maps of names to texts; other parts of a copy are kept beside them. */
export class FakeVolumes implements VolumeCopies {
  /** Copies fail as with a daemon that is down, though containers do not. */
  away = false
  readonly #headers = new WeakMap<Map<string, string>, Map<string, Header>>()
  readonly #host: FakeHost
  readonly #faults: FakeFaults

  constructor(host: FakeHost, faults: FakeFaults) {
    this.#host = host
    this.#faults = faults
  }

  async *dump(spec: VolumeSpec, signal: AbortSignal): AsyncGenerator<Buffer> {
    this.#refuseIfAway()
    if (this.#faults.endlessDumps.has(spec.appEnvId) && !signal.aborted) await once(signal, 'abort')
    signal.throwIfAborted()
    const tar = pack()
    for (const header of this.#faults.strangeEntries) tar.entry(header, '')
    const files = this.#files(spec)
    for (const [name, content] of files)
      tar.entry(this.#headers.get(files)?.get(name) ?? { name: `./${name}` }, content)
    tar.finalize()
    yield* tar as AsyncIterable<Buffer>
  }

  async load(spec: VolumeSpec, source: Readable, signal: AbortSignal): Promise<void> {
    this.#refuseIfAway()
    const { holdLoads } = this.#faults
    // A signal that is aborted already has no more events.
    if (holdLoads && !signal.aborted) {
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      await Promise.race([holdLoads, aborted])
    }
    signal.throwIfAborted()
    const files = this.#files(spec)
    files.clear()
    const headers = new Map<string, Header>()
    this.#headers.set(files, headers)
    await eachEntry(source, async (header, content) => {
      files.set(header.name, await text(content))
      headers.set(header.name, header)
    })
  }

  async remove({ appEnvId, mount }: VolumeSpec): Promise<void> {
    this.#refuseIfAway()
    this.#host.volumes.delete(`${appEnvId}/${mount.volume}`)
  }

  #refuseIfAway(): void {
    if (this.away || this.#faults.away) throw new AppError('unavailable', 'The fake engine is away')
  }

  #files({ appEnvId, mount }: VolumeSpec): Map<string, string> {
    const [files] = this.#host.mount({ appEnvId, mounts: [mount] }).values()
    return files!
  }
}
