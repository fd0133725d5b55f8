import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  applyAppEnvChanges,
  scaleAppEnvContainers,
  startAppEnv,
  stopAppEnv,
  updateAppEnvVariables,
} from '../../src/contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus, type Pod } from '../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../src/contract/app-envs.ts'
import { redeployAppEnv } from '../../src/contract/deployments.ts'
import { untilRead } from '../until.ts'
import { deploy, makeFunction, sampleServer, sampleSource, untilDeployed } from './deploy.ts'
import type { Installation } from './installation.ts'

/** Where a suite runs: every region does the same. */
export interface Place {
  /** Started and disposed of by the caller. */
  installation: Installation
  region: string
  /** An image with Node that a Dockerfile can begin with. */
  base: string
}

interface SampleAnswer {
  container: string
  peak: number
  color?: string
}

/** Ends when it is stopped, and not only after the grace. */
const server = `${sampleServer}\nprocess.once('SIGTERM', () => process.exit(143))\n`

/**
 * `stopped`: the status of requests while the environment is stopped. `holdMs`: of 50 requests at once, so long that one
 * container alone would take five times that, in which any machine starts another. `routesLater`: an ingress learns where
 * a version serves slightly after the platform says so.
 */
export function describeFunctionLifecycle({
  installation,
  region,
  base,
  stopped,
  holdMs,
  routesLater = false,
}: Place & { stopped: number; holdMs: number; routesLater?: boolean }): void {
  describe('the lifecycle of a function', () => {
    let appEnvId = ''
    let host = ''

    const status = () => installation.client().call(getAppEnvStatus, { appEnvId })
    const ask = async (pathname = '/'): Promise<SampleAnswer> => {
      const answer = await installation.request(host, pathname)
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body}`)
      return JSON.parse(answer.body)
    }

    const firstAnswer = (fits: (answer: SampleAnswer) => boolean = () => true) =>
      routesLater ? untilRead(ask, fits, 'an answer of this version') : ask()
    /** Keeps one container busy meanwhile, which would be idle within two seconds. */
    async function whileAsked<T>(work: () => Promise<T>): Promise<T> {
      let isOver = false
      const requests = async () => {
        while (!isOver) await ask('/?ms=100')
      }
      const end = () => {
        isOver = true
      }
      const [result] = await Promise.all([work().finally(end), requests()])
      return result
    }

    beforeAll(async () => {
      ;({ appEnvId, host } = await makeFunction(installation, 'lifecycle', {}, region))
    })

    it('deploys source and answers through the gateway', async () => {
      expect((await status()).status).toBe('STOPPED')
      await deploy(installation, appEnvId, sampleSource(base, server))
      const deployed = await untilDeployed(installation, appEnvId)
      expect(deployed).toMatchObject({ status: 'RUNNING', currentVersion: 1 })
      expect((await firstAnswer()).peak).toBe(1)
    })

    it('F3 serves 50 at once on at most maxScale containers with at most containerConcurrency in each', async () => {
      let size = 0
      // A busy machine may be slower with the second container than the first one is with all requests.
      for (let batch = 0; size <= 1 && batch < 3; batch += 1) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => ask(`/?ms=${holdMs}`)))
        size = new Set(answers.map((answer) => answer.container)).size
        expect(size).toBeLessThanOrEqual(3)
        expect(Math.max(...answers.map((answer) => answer.peak))).toBeLessThanOrEqual(10)
      }
      expect(size).toBeGreaterThan(1)
    })

    it('F1 scales to zero when idle, F2 starts again for the next request', async () => {
      const zero = await untilRead(status, ({ containers }) => containers.running === 0, 'zero containers')
      expect(zero.status).toBe('RUNNING')
      expect((await ask()).peak).toBe(1)
      await whileAsked(() => untilRead(status, ({ containers }) => containers.running === 1, 'one container'))
    })

    it('F10 lists the dead pods too', async () => {
      const running = (pod: Pod) => pod.status === 'Running'
      const { pods } = await whileAsked(() =>
        untilRead(
          () => installation.client().call(getAppEnvPods, { appEnvId }),
          (read) => read.pods.some(running),
          'a running pod',
        ),
      )
      expect(pods.length).toBeGreaterThan(1)
      expect(pods.filter(running)).toHaveLength(1)
      expect(pods.filter((pod) => pod.status === 'Succeeded').length).toBeGreaterThan(0)
    })

    it('F8 refuses manual scaling', async () => {
      await expect(
        installation.client().call(scaleAppEnvContainers, { appEnvId, containers: 2 }),
      ).rejects.toMatchObject({ kind: 'invalid', rule: 'F8' })
    })

    it('3.3 keeps the old variables until apply, then replaces the containers', async () => {
      const client = installation.client()
      await client.call(updateAppEnvVariables, { appEnvId, set: [{ name: 'COLOR', value: 'green' }] })
      expect((await status()).pendingChanges.hasDeployChanges).toBe(true)
      expect((await ask()).color).toBeUndefined()
      await client.call(applyAppEnvChanges, { appEnvId })
      await untilRead(ask, (answer) => answer.color === 'green', 'the new variable')
      // A cluster routes to a container slightly before the platform has its state.
      await untilDeployed(installation, appEnvId)
      expect((await status()).pendingChanges.hasDeployChanges).toBe(false)
    })

    it('keeps the last good version serving when a deployment fails, and says why', async () => {
      await deploy(installation, appEnvId, sampleSource(base, 'process.exit(3)'))
      const failed = await untilDeployed(installation, appEnvId)
      expect(failed).toMatchObject({
        status: 'RUNNING',
        currentDeployment: { status: 'FAILED', failure: { reason: 'exits-at-once' } },
      })
      expect(failed.currentDeployment?.failure?.message).toContain('code 3')
      expect((await ask()).color).toBe('green')
    })

    it('rolls back to an earlier version', async () => {
      await deploy(installation, appEnvId, sampleSource(base, server.replace('color:', 'next: true, color:')))
      expect((await untilDeployed(installation, appEnvId)).currentVersion).not.toBe(1)
      await installation.client().call(redeployAppEnv, { appEnvId, version: 1 })
      const back = await untilRead(
        status,
        (read) => read.currentVersion === 1 && read.status === 'RUNNING',
        'version 1',
      )
      expect(back.currentDeployment?.status).toBe('DEPLOYED')
      expect(await firstAnswer((answer) => !('next' in answer))).not.toHaveProperty('next')
    })

    it('stops, refuses requests, and starts again', async () => {
      await installation.client().call(stopAppEnv, { appEnvId })
      await untilRead(status, ({ containers }) => containers.running === 0, 'no container')
      await untilRead(
        () => installation.request(host),
        ({ status }) => status === stopped,
        `status ${stopped}`,
      )
      await installation.client().call(startAppEnv, { appEnvId })
      await untilRead(status, (read) => read.status === 'RUNNING', 'running again')
      expect((await firstAnswer()).peak).toBeGreaterThan(0)
    })

    it('a deleted environment leaves nothing behind', async () => {
      await installation.client().call(deleteAppEnv, { appEnvId })
      await expect(status()).rejects.toMatchObject({ kind: 'not-found' })
      await untilRead(
        // Knative holds a request that comes while the last container goes.
        () => Promise.race([installation.request(host), pause(3_000, { status: 0 })]),
        (answer) => answer.status === 404,
        'a gone route',
      )
    })
  })
}
