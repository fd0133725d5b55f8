import { afterAll, describe, expect, it } from 'vitest'
import { getAppEnvPods, getAppEnvStatus } from '../../../src/contract/app-env-reads.ts'
import { notifyCodeUpload } from '../../../src/contract/deployments.ts'
import { availableEngines } from '../../../testkit/engines/available-engines.ts'
import { makeFunction, sampleSource, upload } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { untilRead } from '../../../testkit/until.ts'

/** Milliseconds after the deployment was acknowledged: unpacking, building, starting, serving. */
const delaysMs = {
  process: [0, 10, 30, 60, 100, 180, 300, 600, 1_000],
  docker: [0, 60, 300, 1_000, 1_800],
}

for (const { engine, base } of await availableEngines()) {
  describe(`kill -9 of the control plane on the ${engine} engine`, () => {
    const installation = new Installation({ LONGSHORE_ENGINE: engine })
    afterAll(() => installation.dispose())

    it('loses nothing acknowledged at any point of a deployment, and leaves no orphan', async () => {
      await installation.start()
      const { appEnvId, host } = await makeFunction(installation, `crash ${engine}`)
      for (const [index, delayMs] of delaysMs[engine].entries()) {
        const version = index + 1
        const storageKey = await upload(installation, appEnvId, sampleSource(base))
        const answer = await installation.client().call(notifyCodeUpload, { appEnvId, storageKey })
        expect(answer.version).toBe(version)
        await new Promise((resolve) => setTimeout(resolve, delayMs))
        await installation.end('SIGKILL')
        if (index > 0) expect((await installation.request(host)).status).toBe(200)
        await installation.start()
        const status = await untilRead(
          () => installation.client().call(getAppEnvStatus, { appEnvId }),
          (read) => read.currentVersion === version && read.status === 'RUNNING',
          `version ${version} after a crash at ${delayMs} ms`,
        )
        expect(status.currentDeployment?.status).toBe('DEPLOYED')
        expect((await installation.request(host)).status).toBe(200)
      }
      const { pods } = await untilRead(
        () => installation.client().call(getAppEnvPods, { appEnvId }),
        (read) =>
          read.pods.filter((pod) => pod.status === 'Running' || pod.status === 'Pending').length === 1,
        'one container left',
      )
      expect(pods.length).toBeGreaterThan(1)
    })
  })
}
