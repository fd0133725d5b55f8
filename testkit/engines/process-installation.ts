import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../src/clock.ts'
import type { ContainerSpec, Engine, EngineLogLine } from '../../src/engines/engine.ts'
import { createProcessEngine } from '../../src/engines/process/engine.ts'
import { createLog } from '../../src/log.ts'
import { type SourceFiles, writeSource } from '../builds/sample-sources.ts'
import { removeFolder } from '../remove-folder.ts'
import { bundledSupervisorEntry } from './supervisor-entry.ts'

/** A process engine on a data directory of its own under the system's temporary folder. */
export class ProcessInstallation {
  readonly home: string
  readonly #base: string
  readonly #engines: Engine[] = []
  #count = 0

  private constructor(base: string, below: string) {
    this.#base = base
    this.home = path.join(base, below)
  }

  static async create(below = ''): Promise<ProcessInstallation> {
    return new ProcessInstallation(await mkdtemp(path.join(tmpdir(), 'longshore-home-')), below)
  }

  /** Another engine object on this data directory, opened. */
  async open(more: { nodeImage?: string; probe?: () => Promise<string> } = {}): Promise<Engine> {
    const engine = createProcessEngine({
      home: this.home,
      clock: systemClock,
      log: createLog('test', 'silent'),
      supervisorEntry: bundledSupervisorEntry(),
      ...more,
    })
    this.#engines.push(engine)
    await engine.open()
    return engine
  }

  /** Builds the files; answers the image and the lines of the build log. */
  async build(
    engine: Engine,
    files: SourceFiles,
    options: { buildArgs?: Record<string, string>; secretBuildArgs?: string[]; signal?: AbortSignal } = {},
    onLine: (line: EngineLogLine) => void = () => {},
  ): Promise<{ image: string; contentId: string; log: string[]; root: string }> {
    const source = await writeSource(files)
    const contentId = `dep_${++this.#count}`
    const log: string[] = []
    try {
      const { image } = await engine.build(
        {
          appEnvId: 'env_1',
          contentId,
          sourceDir: source.dir,
          contextDir: '.',
          dockerfilePath: 'Dockerfile',
          dockerfileContent: null,
          buildArgs: options.buildArgs ?? {},
          secretBuildArgs: options.secretBuildArgs ?? [],
        },
        (line) => {
          log.push(line.message)
          onLine(line)
        },
        options.signal ?? new AbortController().signal,
      )
      return { image, contentId, log, root: path.join(this.home, 'engine', 'images', contentId, 'root') }
    } finally {
      await source.remove()
    }
  }

  spec(image: string, change: Partial<ContainerSpec> = {}): ContainerSpec {
    const name = `one-${++this.#count}`
    return {
      name,
      podId: `pod-${name}`,
      appEnvId: 'env_1',
      accountId: 'acc_1',
      contentId: 'dep_1',
      image,
      port: 8080,
      env: {},
      cpuMillicores: 500,
      memoryMb: 512,
      internalHost: name,
      ...change,
    }
  }

  /** Removes the home: the supervisor ends its containers and leaves by itself. */
  async destroy(): Promise<void> {
    for (const engine of this.#engines) await engine.close()
    removeFolder(this.#base)
  }
}

/** All lines of a container so far. */
export async function messagesOf(engine: Engine, name: string): Promise<string[]> {
  const messages: string[] = []
  const signal = new AbortController().signal
  for await (const line of engine.logs(name, { since: null, follow: false, signal }))
    messages.push(line.message)
  return messages
}
