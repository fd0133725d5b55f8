import { expect, it } from 'vitest'
import { type SuiteInstallation, until } from './suite-installation.ts'

export function adoptionGuarantees(suite: SuiteInstallation): void {
  it('lists running and ended containers after another engine object took over', async () => {
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

export function logGuarantees(suite: SuiteInstallation): void {
  it('reports the stream and time of each line, and only lines after `since`', async () => {
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

  it('stops following after an abort', async () => {
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

export function observationGuarantees(suite: SuiteInstallation): void {
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
