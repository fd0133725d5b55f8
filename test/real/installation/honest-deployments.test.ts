import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { enginesHere } from '../../../testkit/engines/engines-here.ts'
import { loadOn, versionSource } from '../../../testkit/gateway/rolling-load.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { deploy, until, untilDeployed } from '../../../testkit/platform/story.ts'

/** The window of 10 s takes 2 s, so the times of the programs are a fifth of what they stand for. */
const clockScale = 5

const listens = (rest: string, port = 'process.env.PORT') => `
const server = require('node:http').createServer((request, response) => {
  response.statusCode = global.broken ? 500 : 200
  response.end('99')
})
server.listen(${port})
${rest}
`

const exitsAfter = (ms: number) => listens(`setTimeout(() => process.exit(3), ${ms})`)

/** What no deployment may count as good. */
const bad: Record<string, { server: string; reason: RegExp }> = {
  'exits before it listens': { server: 'process.exit(1)', reason: /exits-at-once/ },
  'exits after 0.2 s': { server: exitsAfter(40), reason: /exit/ },
  'exits after 1 s': { server: exitsAfter(200), reason: /exit/ },
  'exits after 5 s': { server: exitsAfter(1_000), reason: /exit/ },
  'answers 500 from the start': { server: listens('global.broken = true'), reason: /failing-checks/ },
  'answers 500 after 4 s': {
    server: listens('setTimeout(() => { global.broken = true }, 800)'),
    reason: /failing-checks/,
  },
  'leaks memory': {
    server: listens('const held = []; setInterval(() => held.push(Buffer.alloc(64e6, 1)), 20)'),
    reason: /out-of-memory|exit|failing-checks/,
  },
  'stops listening after 2 s': {
    server: listens(
      'setTimeout(() => { server.close(); server.closeAllConnections(); setInterval(() => {}, 1e6) }, 400)',
    ),
    reason: /failing-checks|unreachable/,
  },
}

/** What every deployment must count as good. */
const good: Record<string, string> = {
  'listens late': `setTimeout(() => { ${listens('')} }, 1500)`,
  'ignores SIGTERM': listens("process.on('SIGTERM', () => {})"),
}

const sourceOf = (base: string, server: string) => ({ ...versionSource(base, 0), 'server.js': server })

const engines = (await enginesHere()).filter(({ engine }) => engine === 'process')

for (const { engine, base } of engines) {
  describe(`honest deployments on the ${engine} engine`, () => {
    const settings = { LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: String(clockScale) }
    const installation = new Installation(settings)
    let appEnvId = ''
    let host = ''

    beforeAll(async () => {
      await installation.start()
      const client = installation.client()
      const { accountId } = installation.ready
      const healthCheck = { path: '/', intervalSeconds: 3, timeoutSeconds: 3 }
      const { appId } = await client.call(createApp, { name: 'honest', accountId, port: 8080, healthCheck })
      const made = { accountId, appId, name: 'prod', region: 'local' }
      appEnvId = (await client.call(createAppEnv, made)).appEnvId
      host = (await client.call(getAppEnv, { appEnvId })).hosts[0]?.host ?? ''
      await deploy(installation, appEnvId, versionSource(base, 1))
      const { currentDeployment } = await untilDeployed(installation, appEnvId)
      expect(currentDeployment).toMatchObject({ version: 1, status: 'DEPLOYED' })
    }, 120_000)
    afterAll(() => installation.dispose(), 60_000)

    const status = () => installation.client().call(getAppEnvStatus, { appEnvId })

    it('fails every bad version, and the last good one answers each request', async () => {
      const { outcome, end } = loadOn(installation, host, 2)
      try {
        for (const [what, { server, reason }] of Object.entries(bad)) {
          await deploy(installation, appEnvId, sourceOf(base, server))
          const { currentDeployment, ...rest } = await untilDeployed(installation, appEnvId)
          expect({ what, status: currentDeployment?.status }).toEqual({ what, status: 'FAILED' })
          expect(currentDeployment?.failure?.reason, what).toMatch(reason)
          expect(rest, what).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
        }
      } finally {
        await end()
      }
      expect(outcome.lost).toEqual([])
      expect(outcome.versions).toEqual([1])
      expect((await status()).health).toMatchObject({ verdict: 'HEALTHY', restarts: 0, logTail: [] })
    }, 300_000)

    it('keeps its verdict over a kill -9 in the middle of the window', async () => {
      await deploy(installation, appEnvId, sourceOf(base, listens('')))
      await until(status, (read) => read.containers.ready === 2, 'the new container')
      await installation.end('SIGKILL')
      expect((await installation.request(host)).body).toBe('1')
      await installation.start()
      const { currentDeployment } = await untilDeployed(installation, appEnvId)
      expect(currentDeployment?.status).toBe('DEPLOYED')
      await until(
        () => installation.request(host),
        ({ body }) => body === '99',
        'the new version',
      )
    }, 60_000)

    it.each(Object.entries(good))(
      'deploys a version that %s',
      async (_what, server) => {
        const { version } = await deploy(installation, appEnvId, sourceOf(base, server))
        const { currentDeployment } = await untilDeployed(installation, appEnvId)
        expect(currentDeployment).toMatchObject({ version, status: 'DEPLOYED', failure: null })
      },
      60_000,
    )

    it('says CRASH_LOOP of a version that exits after its window, in the status and in the 503', async () => {
      await deploy(installation, appEnvId, sourceOf(base, exitsAfter(4_000)))
      expect((await untilDeployed(installation, appEnvId)).currentDeployment?.status).toBe('DEPLOYED')
      const { health } = await until(status, (read) => read.health?.verdict === 'CRASH_LOOP', 'CRASH_LOOP')
      expect(health?.lastExit).toMatchObject({ code: 3 })
      const refused = await until(
        () => installation.request(host),
        (answer) => answer.status === 503,
        'a 503',
      )
      expect(refused.body).toContain('Its containers keep exiting')
    }, 120_000)
  })
}
