import net from 'node:net'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/clock.ts'
import { createDockerEngine } from '../../../../src/engines/docker/engine.ts'
import { dockerSocketAnswers } from '../../../../src/engines/docker/socket.ts'
import { createLog } from '../../../../src/log.ts'

const log = createLog('docker-test', 'silent')
const never = new AbortController().signal

describe('an engine that is away', () => {
  const away = (dockerHost: string) =>
    createDockerEngine({ installationId: 'away', dockerHost, clock: systemClock, log })

  it('is unavailable on every verb, with how to bring it back', async () => {
    const engine = away('unix:///nonexistent/docker.sock')
    const attempts = [
      engine.open(),
      engine.list(),
      engine.stop('x', 1),
      engine.usage('x'),
      engine.pull('x', () => {}, never),
    ]
    for (const attempt of attempts) {
      await expect(attempt).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'The container engine does not answer',
        details: expect.stringContaining('systemctl start docker'),
      })
    }
    await engine.close()
  })

  it('refuses an engine on another machine, and one whose address makes no sense', async () => {
    for (const host of ['tcp://192.0.2.1:2375', 'ssh://box', 'nonsense', 'unix://relative']) {
      await expect(away(host).open()).rejects.toMatchObject({ kind: 'invalid' })
      expect(await dockerSocketAnswers(host)).toBe(false)
    }
  })

  it('is not taken for one that answers', async () => {
    const silent = net.createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    const { port } = silent.address() as net.AddressInfo
    const startMs = performance.now()
    expect(await dockerSocketAnswers(`tcp://127.0.0.1:${port}`)).toBe(false)
    expect(performance.now() - startMs).toBeLessThan(20_000)
    silent.close()
  })
})
