import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getAppEnvStatus, getLogs, type Pod } from '../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../../../src/contract/app-envs.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { freePort } from '../../../testkit/free-port.ts'
import { deploy, noWindow, sampleSource } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

for (const { engine, base } of await availableEngines()) {
  describe.concurrent(`where an app listens, on the ${engine} engine`, () => {
    const installation = new Installation({ LONGSHORE_ENGINE: engine })
    beforeAll(async () => void (await installation.start()))
    afterAll(() => installation.dispose())

    const deployed = async (name: string, code: string, port = 3000) => {
      const client = installation.client()
      const { accountId } = installation.ready
      const { appId } = await client.call(createApp, { name, accountId, port, ...noWindow })
      const { appEnvId } = await client.call(createAppEnv, {
        accountId,
        appId,
        name: 'prod',
        region: 'local',
      })
      const { cliEnvName } = await client.call(getAppEnv, { appEnvId })
      await deploy(installation, appEnvId, sampleSource(base, code))
      let pods: Pod[] = []
      let startedMs = Number.NaN
      const status = await untilRead(
        async () => {
          const listed = await client.call(getAppEnvPods, { appEnvId })
          // The container of a failed deployment is removed soon: the last listing that has it counts.
          if (listed.pods.length > 0) {
            pods = listed.pods
            startedMs ||= Date.now()
          }
          return client.call(getAppEnvStatus, { appEnvId })
        },
        ({ currentDeployment }) => ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status ?? ''),
        'a finished deployment',
      )
      const startTookMs = Date.now() - startedMs
      const { logs } = await client.call(getLogs, { appEnvId, type: 'BUILD' })
      const buildLog = logs.map(({ message }) => message).join('\n')
      return { status, pods, startTookMs, buildLog, host: `${cliEnvName}.app.localhost` }
    }
    const listen = (port: string, host: string) =>
      `require('http').createServer((q, s) => s.end('here')).listen(${port}, '${host}')\n`

    it('fails an app bound to loopback with the address and the way out', async () => {
      const { status, pods } = await deployed('loopback', listen('process.env.PORT', '127.0.0.1'))
      expect(status.currentDeployment?.failure).toMatchObject({
        reason: 'loopback-bind',
        message: expect.stringMatching(/listens on 127\.0\.0\.1:\d+,.* Expected: port 3000/),
      })
      expect(status.status).toBe('STOPPED')
      expect(JSON.stringify([status, pods])).not.toMatch(/(?:exitCode":|code )(?:143|137)/)
    })

    it('fails an app on another port before the time to start is over, and does not blame its exit code', async () => {
      const port = await freePort()
      const { status, pods, startTookMs } = await deployed('elsewhere', listen(String(port), '0.0.0.0'))
      expect(status.currentDeployment?.failure).toMatchObject({
        reason: 'wrong-port',
        message: expect.stringContaining(`listens on 0.0.0.0:${port}. Expected: port 3000`),
      })
      // Its container, not the build before it: the time to start is 60 s.
      expect(startTookMs).toBeLessThan(55_000)
      expect(JSON.stringify([status, pods])).not.toMatch(/(?:exitCode":|code )(?:143|137)/)
    })

    it('waits for an app that opens its metrics port long before its own', async () => {
      const metricsPort = String(await freePort())
      const code = `${listen(metricsPort, '0.0.0.0')}setTimeout(() => { ${listen('process.env.PORT', '0.0.0.0')} }, 20_000)\n`
      const { status, host, buildLog } = await deployed('slow', code)
      expect(buildLog).toContain(`listens on 0.0.0.0:${metricsPort}, and not on port 3000`)
      expect(buildLog).toMatch(/port 3000\b.* yet; still waiting/)
      expect(status.currentDeployment).toMatchObject({ status: 'DEPLOYED', failure: null })
      expect(await installation.request(host)).toEqual({ status: 200, body: 'here' })
    })

    it('serves an app that ignores PORT and listens on the port it declares', async () => {
      const port = await freePort()
      const { status, host } = await deployed('declared', listen(String(port), '0.0.0.0'), port)
      expect(status.currentDeployment).toMatchObject({ status: 'DEPLOYED' })
      expect(await installation.request(host)).toEqual({ status: 200, body: 'here' })
    })

    it('names the module that an app misses', async () => {
      const { status } = await deployed('misses', "require('not-installed-here')\n")
      expect(status.currentDeployment?.failure).toMatchObject({
        reason: 'missing-module',
        message: expect.stringMatching(
          /cannot find the module not-installed-here: .* exited with code 1 before/,
        ),
      })
    })

    it('tells an app that ends before it listens from one that is stopped for not listening', async () => {
      const { status } = await deployed('ends', 'process.exit(5)\n')
      expect(status.currentDeployment?.failure).toMatchObject({
        reason: 'exits-at-once',
        message: expect.stringContaining('exited with code 5 before it listened on port 3000'),
      })
    })
  })
}
