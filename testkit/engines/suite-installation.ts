import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type {
  BuildSpec,
  ContainerSpec,
  Engine,
  EngineContainer,
  EngineLogLine,
} from '../../src/engines/engine.ts'
import { waitUntilListening } from '../../src/engines/wait-until-listening.ts'
import { type SourceFiles, sampleDockerfile, sampleServerJs, writeSource } from '../builds/sample-sources.ts'

export interface EngineSuiteOptions {
  /** Why this engine cannot be tested here; its suite is then skipped under this name, never silently. */
  absent?: string | null
  /** Promises the engine does not make, each skipped by name. */
  without?: readonly 'memory limit'[]
}

/** One opened engine on an installation of its own. */
export interface EngineUnderTest {
  engine: Engine
  /** The image in FROM of the sample sources, with `node` and `/bin/sh`. */
  baseImage: string
  /** A second engine object on the same installation, opened; the suite closes the first one before. */
  reopen(): Promise<Engine>
  /** Removes everything, including the engine's own state. */
  close(): Promise<void>
}

/** State that the tests share: the engine, one built sample, and the names to remove after each test. */
export class SuiteInstallation {
  readonly #make: () => Promise<EngineUnderTest>
  #under: EngineUnderTest | null = null
  engine!: Engine
  image = ''
  readonly #names = new Set<string>()

  constructor(make: () => Promise<EngineUnderTest>) {
    this.#make = make
  }

  async start(): Promise<void> {
    this.#under = await this.#make()
    this.engine = this.#under.engine
    this.image = (
      await this.build({ Dockerfile: sampleDockerfile(this.baseImage), 'server.js': sampleServerJs })
    ).image
  }

  async finish(): Promise<void> {
    if (!this.#under) return
    if (this.image) await this.engine.removeImage(this.image)
    await this.engine.close()
    await this.#under.close()
  }

  async reopen(): Promise<void> {
    await this.engine.close()
    this.engine = await this.#under!.reopen()
  }

  async removeContainers(): Promise<void> {
    for (const name of this.#names) await this.engine.remove(name)
    this.#names.clear()
  }

  get baseImage(): string {
    return this.#under!.baseImage
  }

  async build(
    files: SourceFiles,
    change: Partial<BuildSpec> = {},
    onLog: (line: EngineLogLine) => void = () => {},
    signal: AbortSignal = new AbortController().signal,
  ): Promise<{ image: string }> {
    const source = await writeSource(files)
    try {
      return await this.engine.build(
        {
          appEnvId: `env_${randomName()}`,
          contentId: `dep_${randomName()}`,
          sourceDir: source.dir,
          contextDir: '.',
          dockerfilePath: 'Dockerfile',
          dockerfileContent: null,
          buildArgs: {},
          secretBuildArgs: [],
          ...change,
        },
        onLog,
        signal,
      )
    } finally {
      await source.remove()
    }
  }

  /** A spec with a new name; the container is removed after the test. */
  spec(env: Record<string, string> = {}, change: Partial<ContainerSpec> = {}): ContainerSpec {
    const id = randomName()
    const spec: ContainerSpec = {
      name: `suite-${id}`,
      podId: `pod-${id}`,
      appEnvId: `env_${id}`,
      accountId: `acc_${id}`,
      contentId: `dep_${id}`,
      image: this.image,
      port: 8080,
      env,
      cpuMillicores: 500,
      memoryMb: 512,
      internalHost: `suite-${id}`,
      ...change,
    }
    this.#names.add(spec.name)
    return spec
  }

  async find(name: string): Promise<EngineContainer | null> {
    return (await this.engine.list()).find((container) => container.name === name) ?? null
  }

  /** Applies and waits until the port answers. */
  async serving(
    env: Record<string, string> = {},
    change: Partial<ContainerSpec> = {},
  ): Promise<ContainerSpec> {
    const spec = this.spec(env, change)
    await this.engine.apply(spec)
    await this.listening(spec.name)
    return spec
  }

  async listening(name: string): Promise<void> {
    let container = await until(`${name} has an address`, async () => {
      const found = await this.find(name)
      return found?.address ? found : null
    })
    const refresh = new AbortController()
    const outcome = waitUntilListening({
      address: () => container.address,
      stillRunning: () => container.state === 'running',
      timeoutMs: 60_000,
      clock: systemClock,
      signal: refresh.signal,
    })
    // The address may change while it starts: a program that listens elsewhere than PORT.
    const timer = setInterval(async () => {
      container = (await this.find(name)) ?? container
    }, 250)
    try {
      expect(await outcome, `${name} answers on its address`).toBe('listening')
    } finally {
      clearInterval(timer)
    }
  }

  async ask(name: string, pathAndQuery: string): Promise<string> {
    const container = await this.find(name)
    const { host, port } = container!.address!
    const answer = await fetch(`http://${host}:${port}${pathAndQuery}`, { headers: { connection: 'close' } })
    return await answer.text()
  }

  exited(name: string): Promise<EngineContainer> {
    return until(`${name} is listed as exited`, async () => {
      const found = await this.find(name)
      return found?.state === 'exited' ? found : null
    })
  }

  async messages(name: string, since: string | null = null): Promise<string[]> {
    return (await this.lines(name, since)).map((line) => line.message)
  }

  async lines(name: string, since: string | null = null): Promise<EngineLogLine[]> {
    const lines: EngineLogLine[] = []
    const signal = new AbortController().signal
    for await (const line of this.engine.logs(name, { since, follow: false, signal })) lines.push(line)
    return lines
  }

  /** Waits until the log holds `message`. */
  logged(name: string, message: string): Promise<EngineLogLine> {
    return until(`${name} logs ${message}`, async () => {
      return (await this.lines(name)).find((line) => line.message.includes(message)) ?? null
    })
  }
}

function randomName(): string {
  return randomBytes(6).toString('hex')
}

/** Polls until `probe` returns a value; `what` names it in the error of a timeout. */
export async function until<T>(
  what: string,
  probe: () => T | null | Promise<T | null>,
  timeoutMs = 60_000,
): Promise<NonNullable<T>> {
  for (const endMs = performance.now() + timeoutMs; performance.now() < endMs; ) {
    const value = await probe()
    if (value !== null && value !== undefined) return value as NonNullable<T>
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
}
