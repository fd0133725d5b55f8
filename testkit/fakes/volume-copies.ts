import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pack } from 'tar-stream'
import type { VolumeCopies, VolumeSpec } from '../../src/engines/volume-copies.ts'
import { eachEntry } from '../../src/engines/volume-tar.ts'
import type { FakeHost } from './host.ts'
import type { FakeKnobs } from './knobs.ts'

/** Volumes of the fake engine are maps of names to texts. */
export class FakeVolumes implements VolumeCopies {
  readonly #host: FakeHost
  readonly #knobs: FakeKnobs

  constructor(host: FakeHost, knobs: FakeKnobs) {
    this.#host = host
    this.#knobs = knobs
  }

  async *dump(spec: VolumeSpec): AsyncGenerator<Buffer> {
    const tar = pack()
    for (const header of this.#knobs.strangeEntries) tar.entry(header, '')
    for (const [name, content] of this.#files(spec)) tar.entry({ name: `./${name}` }, content)
    tar.finalize()
    yield* tar as AsyncIterable<Buffer>
  }

  async load(spec: VolumeSpec, source: Readable, signal: AbortSignal): Promise<void> {
    const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    if (this.#knobs.holdLoads) await Promise.race([this.#knobs.holdLoads, aborted])
    signal.throwIfAborted()
    const files = this.#files(spec)
    files.clear()
    await eachEntry(source, async ({ name }, content) => {
      files.set(name, await text(content))
    })
  }

  #files({ appEnvId, mount }: VolumeSpec): Map<string, string> {
    const [files] = this.#host.mount({ appEnvId, mounts: [mount] }).values()
    return files!
  }
}
