import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import {
  type BuildSpec,
  type ContainerSpec,
  type Engine,
  type EngineContainer,
  EngineFailure,
  type EngineLogLine,
} from '../../src/engines/engine.ts'
import { waitUntilListening } from '../../src/engines/wait-until-listening.ts'
import { type SourceFiles, sampleDockerfile, sampleServerJs, writeSource } from '../support/sample-sources.ts'

/** One opened engine on an installation of its own. */
export interface EngineUnderTest {
  engine: Engine
  /** What FROM names in the sample sources: an image with `node` and `/bin/sh`. */
  baseImage: string
  /** A second engine object on the same installation, opened; the suite closes the first one before. */
  reopen(): Promise<Engine>
  /** Removes all that is left, the engine's own state included. */
  close(): Promise<void>
}

export interface EngineSuiteOptions {
  /** Why this engine cannot be tested here; its suite is then skipped under this name, never silently. */
  absent?: string | null
  /** Promises the engine does not make, each skipped by name. */
  without?: readonly 'memory limit'[]
}

/** Every promise of the engine port, tried on a real engine. */
export function describeEngine(
  name: string,
  makeEngine: () => Promise<EngineUnderTest>,
  options: EngineSuiteOptions = {},
): void {
  if (options.absent) {
    describe.skip(`${name} engine (absent: ${options.absent})`, () => {
      it('is tested where the engine is there', () => {})
    })
    return
  }
  describe(`${name} engine`, () => {
    const suite = new EngineSuite(makeEngine)
    beforeAll(() => suite.start())
    afterEach(() => suite.removeContainers())
    afterAll(() => suite.finish())
    describe('build', () => buildPromises(suite))
    describe('start', () => startPromises(suite))
    describe('end', () => endPromises(suite, options))
    describe('adoption', () => adoptionPromises(suite))
    describe('logs', () => logPromises(suite))
    describe('usage and hints', () => observationPromises(suite))
  })
}

/** What the tests share: the engine, one built sample, and the names to remove after each test. */
class EngineSuite {
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
      template: `template-${id}`,
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
      timeoutMs: 15_000,
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

function buildPromises(suite: EngineSuite): void {
  const files = (dockerfile: string): SourceFiles => ({ Dockerfile: dockerfile, 'server.js': sampleServerJs })
  const failure = async (attempt: Promise<unknown>): Promise<EngineFailure> => {
    const error = await attempt.then(
      () => new Error('it succeeded'),
      (reason: unknown) => reason,
    )
    expect(error, String(error)).toBeInstanceOf(EngineFailure)
    return error as EngineFailure
  }

  it('tells the build log while it builds, not after', async () => {
    const heard: { message: string; atMs: number }[] = []
    const steps = ['RUN echo the first line && sleep 1 && echo the second line']
    const { image } = await suite.build(files(sampleDockerfile(suite.baseImage, steps)), {}, (line) => {
      expect(Number.isNaN(Date.parse(line.timestamp))).toBe(false)
      heard.push({ message: line.message, atMs: performance.now() })
    })
    const endMs = performance.now()
    // The step's own text may be echoed too, so the output is looked for as a line that ends with it.
    const at = (text: string) => heard.findLast((line) => line.message.endsWith(text))?.atMs ?? Number.NaN
    expect(endMs - at('the first line')).toBeGreaterThan(800)
    expect(at('the second line') - at('the first line')).toBeGreaterThan(800)
    await suite.engine.removeImage(image)
  })

  it('says no Dockerfile when there is none', async () => {
    const error = await failure(suite.build({ 'server.js': sampleServerJs }))
    expect(error.reason).toBe('no Dockerfile')
    expect(error.message).toContain('Dockerfile')
  })

  it('says which RUN failed, with its exit code and what it printed', async () => {
    const heard: string[] = []
    const steps = ['RUN echo this cannot work && exit 7']
    const error = await failure(
      suite.build(files(sampleDockerfile(suite.baseImage, steps)), {}, (line) => heard.push(line.message)),
    )
    expect(error.reason).toBe('build step')
    expect(error.message).toContain('exit 7')
    expect(error.message).toMatch(/code:? 7/)
    expect(heard.join('\n')).toContain('this cannot work')
  })

  it('names an unknown instruction', async () => {
    const error = await failure(suite.build(files(sampleDockerfile(suite.baseImage, ['FETCH everything']))))
    expect(error.reason).toBe('build step')
    expect(error.message).toContain('FETCH')
  })

  it('says which file a COPY did not find', async () => {
    const error = await failure(
      suite.build(files(sampleDockerfile(suite.baseImage, ['COPY missing-file.txt /app/']))),
    )
    expect(error.reason).toBe('build step')
    expect(error.message).toContain('missing-file.txt')
  })

  it('takes the Dockerfile text that was given instead of the one in the source', async () => {
    const heard: string[] = []
    const dockerfileContent = sampleDockerfile(suite.baseImage, ['RUN echo from the given text'])
    const { image } = await suite.build(files('BROKEN\n'), { dockerfileContent }, (line) =>
      heard.push(line.message),
    )
    expect(heard.join('\n')).toContain('from the given text')
    await suite.engine.removeImage(image)
  })

  it('finds context and Dockerfile below the source, and leaves out what .dockerignore names', async () => {
    const dockerfile = sampleDockerfile(suite.baseImage, [
      'RUN test -f server.js && test ! -e notes.txt && test ! -e outside.txt',
    ])
    const { image } = await suite.build(
      {
        'outside.txt': 'x',
        'service/server.js': sampleServerJs,
        'service/notes.txt': 'x',
        'service/.dockerignore': 'notes.txt\n',
        'service/docker/app.Dockerfile': dockerfile,
      },
      { contextDir: 'service', dockerfilePath: 'docker/app.Dockerfile' },
    )
    await suite.engine.removeImage(image)
  })

  it('offers build arguments, and masks the secret ones in the log', async () => {
    const heard: string[] = []
    const steps = ['ARG COLOUR', 'ARG KEY', 'RUN echo painted $COLOUR with key $KEY']
    const { image } = await suite.build(
      files(sampleDockerfile(suite.baseImage, steps)),
      { buildArgs: { COLOUR: 'teal', KEY: 'open-sesame-42' }, secretBuildArgs: ['open-sesame-42'] },
      (line) => heard.push(line.message),
    )
    expect(heard.join('\n')).toContain('painted teal with key ***')
    expect(heard.join('\n')).not.toContain('open-sesame-42')
    await suite.engine.removeImage(image)
  })

  it('never writes to the source', async () => {
    const source = await writeSource(
      files(sampleDockerfile(suite.baseImage, ['RUN rm server.js && touch new'])),
    )
    const { image } = await suite.build({}, { sourceDir: source.dir })
    expect((await readdir(source.dir)).sort()).toEqual(['Dockerfile', 'server.js'])
    await source.remove()
    await suite.engine.removeImage(image)
  })

  it('gives up soon after it is told to', async () => {
    const abort = new AbortController()
    const steps = ['RUN echo now waiting && sleep 60']
    let toldMs = 0
    const error = await failure(
      suite.build(
        files(sampleDockerfile(suite.baseImage, steps)),
        {},
        (line) => {
          if (!line.message.endsWith('now waiting') || toldMs > 0) return
          toldMs = performance.now()
          abort.abort()
        },
        abort.signal,
      ),
    )
    expect(error.reason).toBe('interrupted')
    expect(performance.now() - toldMs).toBeLessThan(5_000)
  })

  it('removes an image twice, and one that never was', async () => {
    const { image } = await suite.build(files(sampleDockerfile(suite.baseImage)))
    await suite.engine.removeImage(image)
    await suite.engine.removeImage(image)
    const error = await failure(suite.engine.apply(suite.spec({}, { image })))
    expect(error.message.length).toBeGreaterThan(20)
  })

  it('refuses an image it cannot get, saying why', async () => {
    const signal = new AbortController().signal
    const error = await failure(suite.engine.pull('127.0.0.1:1/nobody/nothing:1', () => {}, signal))
    expect(error.reason).toBe(suite.engine.capabilities.runsImages ? 'image pull' : 'not supported')
  })
}

function startPromises(suite: EngineSuite): void {
  it('runs the code with its variables and a PORT, and answers on its address', async () => {
    const spec = await suite.serving({ GREETING: 'the suite', ODD: 'a "b" $c\n\\d é' })
    expect(await suite.ask(spec.name, '/')).toBe('hello from the suite')
    expect(await suite.ask(spec.name, '/env?name=ODD')).toBe('a "b" $c\n\\d é')
    expect(await suite.ask(spec.name, '/env?name=PORT')).toMatch(/^[1-9][0-9]*$/)
    expect(await suite.find(spec.name)).toMatchObject({
      name: spec.name,
      podId: spec.podId,
      appEnvId: spec.appEnvId,
      contentId: spec.contentId,
      template: spec.template,
      state: 'running',
      finishedAt: null,
      exitCode: null,
      outOfMemory: false,
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      nodeName: expect.stringMatching(/./),
    })
  })

  it('shows the container nothing of the platform and its own environment', async () => {
    process.env.LONGSHORE_SUITE_CANARY = 'must stay here'
    try {
      const spec = await suite.serving()
      expect(await suite.ask(spec.name, '/env?name=LONGSHORE_SUITE_CANARY')).toBe('')
    } finally {
      delete process.env.LONGSHORE_SUITE_CANARY
    }
  })

  it('makes one container of one name, however often it is applied', async () => {
    const spec = suite.spec()
    await Promise.all(Array.from({ length: 5 }, () => suite.engine.apply(spec)))
    await suite.listening(spec.name)
    const before = await suite.find(spec.name)
    const again = await suite.engine.apply(spec)
    expect(again).toMatchObject({ name: spec.name, startedAt: before?.startedAt, state: 'running' })
    expect((await suite.engine.list()).filter((one) => one.name === spec.name)).toHaveLength(1)
  })

  it('gives each container an address of its own', async () => {
    const one = await suite.serving({ GREETING: 'one' })
    const two = await suite.serving({ GREETING: 'two' })
    expect(await suite.ask(one.name, '/')).toBe('hello from one')
    expect(await suite.ask(two.name, '/')).toBe('hello from two')
  })

  it('runs code that serves no port, without an address', async () => {
    const spec = suite.spec({ MODE: 'idle' }, { port: null })
    await suite.engine.apply(spec)
    await suite.logged(spec.name, 'idle')
    expect(await suite.find(spec.name)).toMatchObject({ state: 'running', address: null })
  })

  it('starts a prepared container with apply', async (context) => {
    if (!suite.engine.prepare) return context.skip('this engine prepares nothing')
    const spec = suite.spec({ GREETING: 'prepared' })
    await suite.engine.prepare(spec)
    expect((await suite.find(spec.name))?.state ?? 'created').toBe('created')
    await suite.engine.apply(spec)
    await suite.listening(spec.name)
    expect(await suite.ask(spec.name, '/')).toBe('hello from prepared')
  })

  it('says why when the program is not there', async () => {
    const { image } = await suite.build({
      Dockerfile: `FROM ${suite.baseImage}\nCMD ["no-such-program-here"]\n`,
    })
    const spec = suite.spec({}, { image })
    const failure = await suite.engine.apply(spec).then(
      () => null,
      (error: unknown) => error,
    )
    if (failure) {
      expect(failure).toBeInstanceOf(EngineFailure)
      expect((failure as Error).message).toContain('no-such-program-here')
    } else {
      expect((await suite.exited(spec.name)).exitCode).toBe(127)
      expect((await suite.messages(spec.name)).join('\n')).toContain('no-such-program-here')
    }
    await suite.engine.remove(spec.name)
    await suite.engine.removeImage(image)
  })
}

function endPromises(suite: EngineSuite, options: EngineSuiteOptions): void {
  it('keeps exit code, times and logs after the end, and does not start it again', async () => {
    const spec = await suite.serving()
    await suite.ask(spec.name, '/log?text=last+words')
    await suite.ask(spec.name, '/exit?code=7')
    const ended = await suite.exited(spec.name)
    expect(ended).toMatchObject({ exitCode: 7, address: null, outOfMemory: false })
    expect(Date.parse(ended.finishedAt!)).toBeGreaterThanOrEqual(Date.parse(ended.startedAt!))
    expect(await suite.messages(spec.name)).toContain('last words')
    expect(await suite.engine.apply(spec)).toMatchObject({ state: 'exited', exitCode: 7 })
  })

  it('reports code that ends at once as exited, with what it said', async () => {
    const spec = suite.spec({ MODE: 'exit', EXIT_CODE: '3' })
    await suite.engine.apply(spec)
    expect(await suite.exited(spec.name)).toMatchObject({ exitCode: 3 })
    const lines = await suite.lines(spec.name)
    expect(lines).toMatchObject([{ stream: 'stderr', message: 'cannot start: told to exit' }])
  })

  it('stops with SIGTERM first', async () => {
    const spec = await suite.serving()
    await suite.engine.stop(spec.name, 10)
    expect(await suite.exited(spec.name)).toMatchObject({ exitCode: 0, state: 'exited' })
    expect(await suite.messages(spec.name)).toContain('stopping')
    await suite.engine.stop(spec.name, 10)
  })

  it('kills what ignores SIGTERM after the grace, not before', async () => {
    const spec = await suite.serving({ ON_TERM: 'ignore' })
    const startMs = performance.now()
    await suite.engine.stop(spec.name, 1)
    const ended = await suite.exited(spec.name)
    const tookMs = performance.now() - startMs
    expect(ended.exitCode).toBe(137)
    expect(ended.outOfMemory).toBe(false)
    expect(await suite.messages(spec.name)).toContain('ignoring SIGTERM')
    expect(tookMs).toBeGreaterThan(900)
    expect(tookMs).toBeLessThan(8_000)
  })

  it('removes a running container, twice, and one that never was', async () => {
    const spec = await suite.serving()
    const { host, port } = (await suite.find(spec.name))!.address!
    await suite.engine.remove(spec.name)
    expect(await suite.find(spec.name)).toBeNull()
    await expect(fetch(`http://${host}:${port}/`)).rejects.toThrow()
    await suite.engine.remove(spec.name)
    await suite.engine.remove('suite-never-was')
    await suite.engine.stop('suite-never-was', 1)
    expect(await suite.messages(spec.name)).toEqual([])
  })

  it('forgets an environment twice, and leaves the others alone', async () => {
    const kept = await suite.serving({ GREETING: 'kept' })
    const gone = await suite.serving()
    await suite.engine.remove(gone.name)
    await suite.engine.forgetEnvironment(gone.appEnvId)
    await suite.engine.forgetEnvironment(gone.appEnvId)
    expect(await suite.ask(kept.name, '/')).toBe('hello from kept')
  })

  it.skipIf(options.without?.includes('memory limit'))(
    'ends a container that takes far more memory than it may, and says so',
    async () => {
      const spec = await suite.serving({}, { memoryMb: 128 })
      await suite.ask(spec.name, '/hog?mb=600').catch(() => {})
      const ended = await suite.exited(spec.name)
      expect(ended).toMatchObject({ outOfMemory: true, exitCode: 137 })
    },
  )
}

function adoptionPromises(suite: EngineSuite): void {
  it('lists what runs and what ended after another engine object took over', async () => {
    const running = await suite.serving({ GREETING: 'adopted' })
    const ended = await suite.serving()
    await suite.ask(ended.name, '/exit?code=4')
    await suite.exited(ended.name)
    const before = await suite.find(running.name)
    await suite.reopen()
    expect(await suite.find(running.name)).toEqual(before)
    expect(await suite.ask(running.name, '/')).toBe('hello from adopted')
    expect(await suite.find(ended.name)).toMatchObject({ state: 'exited', exitCode: 4 })
    expect(await suite.messages(ended.name)).toContain('listening')
    expect(await suite.engine.apply(running)).toMatchObject({ startedAt: before?.startedAt })
  })
}

function logPromises(suite: EngineSuite): void {
  it('tells the stream and the time of each line, and only what came after `since`', async () => {
    const spec = await suite.serving()
    await suite.ask(spec.name, '/log?text=first')
    const first = await suite.logged(spec.name, 'first')
    await suite.ask(spec.name, '/error-log?text=second')
    const second = await suite.logged(spec.name, 'second')
    expect(first.stream).toBe('stdout')
    expect(second.stream).toBe('stderr')
    expect(Date.parse(second.timestamp)).toBeGreaterThanOrEqual(Date.parse(first.timestamp))
    expect(await suite.messages(spec.name, first.timestamp)).toEqual(['second'])
    expect(await suite.messages(spec.name, second.timestamp)).toEqual([])
  })

  it('follows until the container ends', async () => {
    const spec = await suite.serving()
    const heard: string[] = []
    const signal = new AbortController().signal
    const reading = (async () => {
      for await (const line of suite.engine.logs(spec.name, { since: null, follow: true, signal }))
        heard.push(line.message)
    })()
    await until('the follower hears the past', () => heard.includes('listening') || null)
    await suite.ask(spec.name, '/log?text=live')
    await until('the follower hears the present', () => heard.includes('live') || null)
    await suite.ask(spec.name, '/exit?code=0')
    await reading
    expect(heard).toEqual(['listening', 'live'])
  })

  it('stops following when told', async () => {
    const spec = await suite.serving()
    const abort = new AbortController()
    const heard: string[] = []
    for await (const line of suite.engine.logs(spec.name, {
      since: null,
      follow: true,
      signal: abort.signal,
    })) {
      heard.push(line.message)
      abort.abort()
    }
    expect(heard).toEqual(['listening'])
    expect(await suite.find(spec.name)).toMatchObject({ state: 'running' })
  })
}

function observationPromises(suite: EngineSuite): void {
  it('shows CPU time and memory that move under load, and nothing after the end', async () => {
    const spec = await suite.serving()
    const before = await until('there is usage', () => suite.engine.usage(spec.name))
    expect(before.memoryMb).toBeGreaterThan(1)
    await suite.ask(spec.name, '/hog?mb=100')
    await suite.ask(spec.name, '/burn?ms=600')
    await until('the load shows', async () => {
      const now = await suite.engine.usage(spec.name)
      return (now && now.cpuMs > before.cpuMs + 100 && now.memoryMb > before.memoryMb + 50) || null
    })
    await suite.engine.stop(spec.name, 5)
    expect(await suite.engine.usage(spec.name)).toBeNull()
    expect(await suite.engine.usage('suite-never-was')).toBeNull()
  })

  it('hints that a container changed, until unwatched', async () => {
    const hints: string[] = []
    const unwatch = suite.engine.watch((name) => hints.push(name))
    const first = await suite.serving()
    hints.length = 0
    await suite.ask(first.name, '/exit?code=1')
    await until('a hint came', () => hints.includes(first.name) || null)
    unwatch()
    const second = await suite.serving()
    await suite.ask(second.name, '/exit?code=1')
    await suite.exited(second.name)
    expect(hints).not.toContain(second.name)
  })
}

function randomName(): string {
  return randomBytes(6).toString('hex')
}

/** Polls until `probe` gives something, and names what was waited for when it does not. */
export async function until<T>(
  what: string,
  probe: () => T | null | Promise<T | null>,
  timeoutMs = 15_000,
): Promise<NonNullable<T>> {
  for (const endMs = performance.now() + timeoutMs; performance.now() < endMs; ) {
    const value = await probe()
    if (value !== null && value !== undefined) return value as NonNullable<T>
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`waited ${timeoutMs} ms in vain until ${what}`)
}
