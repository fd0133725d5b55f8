import { expect, it } from 'vitest'
import { EngineFailure } from '../../src/engines/engine.ts'
import type { EngineSuiteOptions, SuiteInstallation } from './suite-installation.ts'

export function startGuarantees(suite: SuiteInstallation): void {
  it('runs the code with its variables and a PORT, and answers on its address', async () => {
    const spec = await suite.serving({ GREETING: 'the suite', ODD: 'a "b" $c\n\\d é' })
    expect(await suite.ask(spec.name, '/')).toBe('hello from the suite')
    expect(await suite.ask(spec.name, '/env?name=ODD')).toBe('a "b" $c\n\\d é')
    expect(await suite.ask(spec.name, '/env?name=PORT')).toMatch(/^[1-9][0-9]*$/)
    expect(await suite.find(spec.name)).toMatchObject({
      name: spec.name,
      podId: spec.podId,
      appEnvId: spec.appEnvId,
      state: 'running',
      finishedAt: null,
      exitCode: null,
      outOfMemory: false,
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      nodeName: expect.stringMatching(/./),
    })
  })

  it("hides the platform's environment variables from the container", async () => {
    process.env.LONGSHORE_SUITE_CANARY = 'must stay here'
    try {
      const spec = await suite.serving()
      expect(await suite.ask(spec.name, '/env?name=LONGSHORE_SUITE_CANARY')).toBe('')
    } finally {
      delete process.env.LONGSHORE_SUITE_CANARY
    }
  })

  it('creates one container for one name, even if applied repeatedly', async () => {
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

  it('reports the reason when the program is missing', async () => {
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

export function endGuarantees(suite: SuiteInstallation, options: EngineSuiteOptions): void {
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

  it('reports code that ends immediately as exited, with its output', async () => {
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
    expect(tookMs).toBeLessThan(30_000)
  })

  it('can remove a running container, an already removed one, and an unknown one', async () => {
    const spec = await suite.serving()
    const { host, port } = (await suite.find(spec.name))!.address!
    await suite.engine.remove(spec.name)
    expect(await suite.find(spec.name)).toBeNull()
    // A released address may not respond for seconds before it is unreachable.
    const signal = AbortSignal.timeout(500)
    await expect(fetch(`http://${host}:${port}/`, { signal })).rejects.toThrow()
    await suite.engine.remove(spec.name)
    await suite.engine.remove('suite-never-was')
    await suite.engine.stop('suite-never-was', 1)
    expect(await suite.messages(spec.name)).toEqual([])
  })

  it('forgets an environment twice, and leaves the others alone', async () => {
    const kept = await suite.serving({ GREETING: 'kept' })
    const gone = await suite.serving()
    await suite.engine.remove(gone.name)
    await suite.engine.purge(gone.appEnvId)
    await suite.engine.purge(gone.appEnvId)
    expect(await suite.ask(kept.name, '/')).toBe('hello from kept')
  })

  it.skipIf(options.without?.includes('memory limit'))(
    'kills a container above its memory limit, and reports it',
    async () => {
      const spec = await suite.serving({}, { memoryMb: 128 })
      await suite.ask(spec.name, '/hog?mb=150').catch(() => {})
      const ended = await suite.exited(spec.name)
      expect(ended).toMatchObject({ outOfMemory: true, exitCode: 137 })
    },
  )
}
