import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { diagnoseAppEnv } from '../../../src/contract/diagnosis.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { freePort } from '../../../testkit/free-port.ts'
import { loadOn, versionSource } from '../../../testkit/gateway/rolling-load.ts'
import { deploy, untilDeployed } from '../../../testkit/platform/deploy.ts'
import {
  badPrograms,
  exitsAfter,
  goodPrograms,
  hostileClockScale,
  hostileHealthCheck,
  listens,
  programSource,
} from '../../../testkit/platform/hostile-programs.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

interface Served {
  appEnvId: string
  host: string
}

for (const { engine, base } of await availableEngines()) {
  describe(`honest deployments on the ${engine} engine`, () => {
    const settings = { LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: String(hostileClockScale) }
    const installation = new Installation(settings)
    /** Serves version 1; the tests deploy to it in turn. */
    let shop: Served

    beforeAll(async () => {
      await installation.start()
      shop = await serving('shop')
    })
    afterAll(() => installation.dispose())

    /** An app whose version 1 serves, by name of its environment. */
    async function serving(name: string): Promise<Served> {
      const client = installation.client()
      const { accountId } = installation.ready
      const app = { name, accountId, port: 8080, healthCheck: hostileHealthCheck }
      const { appId } = await client.call(createApp, app)
      const made = { accountId, appId, name: 'prod', region: 'local' }
      const { appEnvId } = await client.call(createAppEnv, made)
      const { hosts } = await client.call(getAppEnv, { appEnvId })
      await deploy(installation, appEnvId, versionSource(base, 1))
      const { currentDeployment } = await untilDeployed(installation, appEnvId)
      expect(currentDeployment).toMatchObject({ version: 1, status: 'DEPLOYED' })
      return { appEnvId, host: hosts[0]?.host ?? '' }
    }

    const status = () => installation.client().call(getAppEnvStatus, { appEnvId: shop.appEnvId })

    async function rejects({ appEnvId }: Served, what: string, server: string, reason: RegExp) {
      await deploy(installation, appEnvId, programSource(base, server))
      const { currentDeployment, ...rest } = await untilDeployed(installation, appEnvId)
      expect({ what, status: currentDeployment?.status }).toEqual({ what, status: 'FAILED' })
      expect(currentDeployment?.failure?.reason, what).toMatch(reason)
      expect(rest, what).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
    }

    /** Deploys under load; answers what was lost. */
    async function underLoad({ host }: Served, work: () => Promise<void>) {
      const { outcome, end } = loadOn(installation, host, 2)
      try {
        await work()
      } finally {
        await end()
      }
      expect(outcome.lost).toEqual([])
      return outcome
    }

    it('fails every bad version, and the last good one answers each request', async () => {
      // A verdict about a wrong port takes half a minute, so it has an environment of its own.
      const other = await serving('elsewhere')
      const port = await freePort()
      const { versions } = await underLoad(shop, async () => {
        const each = async () => {
          for (const [what, { server, reason }] of Object.entries(badPrograms))
            await rejects(shop, what, server, reason)
        }
        await Promise.all([each(), rejects(other, 'another port', listens('', String(port)), /wrong-port/)])
      })
      expect(versions).toEqual([1])
      expect((await installation.request(other.host)).body).toBe('1')
      expect((await status()).health).toMatchObject({ verdict: 'HEALTHY', restarts: 0, logTail: [] })
    })

    it('keeps its verdict over a kill -9 in the middle of the window', async () => {
      const setWindow = (stabilitySeconds: number) =>
        installation.client().call(updateAppEnv, {
          appEnvId: shop.appEnvId,
          healthCheck: { ...hostileHealthCheck, stabilitySeconds },
        })
      await setWindow(60)
      await deploy(installation, shop.appEnvId, programSource(base, listens('')))
      await untilRead(status, (read) => read.containers.ready === 2, 'the new container')
      await installation.end('SIGKILL')
      expect((await installation.request(shop.host)).body).toBe('1')
      await installation.start()
      const { currentDeployment } = await untilDeployed(installation, shop.appEnvId)
      expect(currentDeployment?.status).toBe('DEPLOYED')
      await untilRead(
        () => installation.request(shop.host),
        ({ body }) => body === '99',
        'the new version',
      )
      await setWindow(10)
    })

    it('deploys every good version, and loses no request', async () => {
      await underLoad(shop, async () => {
        for (const [what, server] of Object.entries(goodPrograms)) {
          const { version } = await deploy(installation, shop.appEnvId, programSource(base, server))
          const { currentDeployment } = await untilDeployed(installation, shop.appEnvId)
          expect(currentDeployment, what).toMatchObject({ version, status: 'DEPLOYED', failure: null })
        }
      })
    })

    it('says FAILING_CHECKS of a version that answers 500 after its window, until it recovers', async () => {
      const broken = listens(
        "server.on('request', ({ url }) => { if (url === '/break') setTimeout(() => { global.broken = false }, 45_000) })",
      )
      await deploy(installation, shop.appEnvId, programSource(base, broken))
      expect((await untilDeployed(installation, shop.appEnvId)).currentDeployment?.status).toBe('DEPLOYED')
      await installation.request(shop.host, '/break')
      const says = (verdict: string) => untilRead(status, (read) => read.health?.verdict === verdict, verdict)
      await says('FAILING_CHECKS')
      const refused = await installation.request(shop.host)
      expect(refused.status).toBe(503)
      expect(refused.body).toContain('Its health checks fail')
      const { findings } = await installation.client().call(diagnoseAppEnv, { appEnvId: shop.appEnvId })
      expect(findings.map(({ cause }) => cause)).toContain('failing-checks')
      await says('HEALTHY')
      expect(await installation.request(shop.host)).toEqual({ status: 200, body: '99' })
    })

    it('says CRASH_LOOP of a version that exits after its window, in the status and in the 503', async () => {
      await deploy(installation, shop.appEnvId, programSource(base, exitsAfter(4_000)))
      expect((await untilDeployed(installation, shop.appEnvId)).currentDeployment?.status).toBe('DEPLOYED')
      const { health } = await untilRead(
        status,
        (read) => read.health?.verdict === 'CRASH_LOOP',
        'CRASH_LOOP',
      )
      expect(health?.lastExit).toMatchObject({ code: 3 })
      // In the moment in which a container exits, the gateway knows only that it takes no requests.
      const refused = await untilRead(
        () => installation.request(shop.host),
        (answer) => answer.body.includes('Its containers keep exiting'),
        'a 503 that says why',
      )
      expect(refused.status).toBe(503)
    })
  })
}
