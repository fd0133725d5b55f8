import { afterEach, describe, expect, it } from 'vitest'
import type { ContainerSpec } from '../../../src/engines/engine.ts'
import { describeEngine } from '../../../testkit/engines/suite.ts'
import { FakeEngine } from '../../../testkit/fakes/engine.ts'
import { FakeHost } from '../../../testkit/fakes/host.ts'

describeEngine('fake', async () => {
  const host = new FakeHost()
  return {
    engine: new FakeEngine({ host }),
    baseImage: 'node:20-alpine',
    reopen: async () => new FakeEngine({ host }),
    close: async () => host.clear(),
  }
})

describe('faults of the fake engine', () => {
  const host = new FakeHost()
  afterEach(() => host.clear())
  const spec: ContainerSpec = {
    name: 'one',
    podId: 'pod',
    appEnvId: 'env',
    accountId: 'acc',
    contentId: 'dep',
    image: 'app:1',
    port: 80,
    env: {},
    cpuMillicores: 500,
    memoryMb: 512,
    internalHost: 'one',
  }
  const engineWithImage = async () => {
    const engine = new FakeEngine({ host })
    await engine.pull(spec.image, () => {})
    return engine
  }

  it('loses the answer of a start that was done', async () => {
    const engine = await engineWithImage()
    engine.faults.loseReplies = 1
    await expect(engine.apply(spec)).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await engine.apply(spec)).toMatchObject({ state: 'running' })
    expect(engine.running()).toHaveLength(1)
  })

  it('fails the configured starts and pulls, then works again', async () => {
    const engine = await engineWithImage()
    engine.faults.failStarts = { times: 1, reason: 'out-of-memory', message: 'too small' }
    await expect(engine.apply(spec)).rejects.toMatchObject({ reason: 'out-of-memory' })
    expect(await engine.apply(spec)).toMatchObject({ state: 'running' })
    engine.faults.failPulls = 'denied'
    await expect(engine.pull('app:2', () => {})).rejects.toMatchObject({ reason: 'image pull' })
  })

  it('crashes a container and cuts its connections', async () => {
    const engine = await engineWithImage()
    const { address } = await engine.apply(spec)
    const hints: string[] = []
    engine.watch((name) => hints.push(name))
    engine.crash('one', 9)
    expect(await engine.list()).toMatchObject([{ state: 'exited', exitCode: 9, address: null }])
    expect(hints).toEqual(['one'])
    await expect(fetch(`http://127.0.0.1:${address!.port}/`)).rejects.toThrow()
  })

  it('starts slowly if configured', async () => {
    const engine = await engineWithImage()
    engine.faults.listenDelayMs = 50
    const { address } = await engine.apply(spec)
    await expect(fetch(`http://127.0.0.1:${address!.port}/`)).rejects.toThrow()
    await expect
      .poll(() => fetch(`http://127.0.0.1:${address!.port}/`).then((answer) => answer.text()))
      .toBe('hello from nobody')
  })

  it('is unavailable if configured', async () => {
    const engine = await engineWithImage()
    engine.faults.away = true
    await expect(engine.list()).rejects.toMatchObject({ kind: 'unavailable' })
  })
})
