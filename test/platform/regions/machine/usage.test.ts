import { describe, expect, it } from 'vitest'
import { stopAppEnv } from '../../../../src/contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { getAppEnvUsage } from '../../../../src/contract/measurements.ts'
import { listOpenRuns } from '../../../../src/store/repositories/usage.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

describe('usage of a running platform', () => {
  it('counts containers while they run and stops when they end; a deleted environment is 404', async () => {
    const platform = await TestPlatform.start()
    try {
      const { client } = platform.admin
      const { appEnvId } = await platform.makeEnvironment({
        app: { dockerPreset: 'FUNCTION' },
        environment: { zClouds: 2 },
      })
      const usage = () => client.call(getAppEnvUsage, { appEnvId })
      expect(await usage()).toEqual({
        appEnvId,
        rateMultiplier: 3,
        containerSeconds: 0,
        zCloudSeconds: 0,
        billedZCloudSeconds: 0,
        diskMb: 0,
        includedDiskMb: 10_240,
        overageDiskMb: 0,
        hours: [],
      })
      await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/fn:1' })
      const counted = await untilRead(usage, (read) => read.containerSeconds > 0, 'a billed second')
      expect(counted.zCloudSeconds).toBe(counted.containerSeconds * 2)
      expect(counted.billedZCloudSeconds).toBe(counted.zCloudSeconds * 3)
      expect(counted.hours).toEqual([
        {
          hour: expect.stringMatching(/:00:00\.000Z$/),
          containerSeconds: counted.containerSeconds,
          zCloudSeconds: counted.zCloudSeconds,
          billedZCloudSeconds: counted.billedZCloudSeconds,
        },
      ])
      await client.call(stopAppEnv, { appEnvId })
      await untilRead(
        () => client.call(getAppEnvStatus, { appEnvId }),
        ({ containers }) => containers.running === 0,
        'no container',
      )
      const { pods } = await client.call(getAppEnvPods, { appEnvId })
      const seconds = (iso: string | null) => Math.floor(Date.parse(iso!) / 1_000)
      const lived = pods.reduce((sum, pod) => sum + seconds(pod.finishedAt) - seconds(pod.startedAt), 0)
      expect(Math.abs((await usage()).containerSeconds - lived)).toBeLessThanOrEqual(1)
      expect(await platform.db.read((tx) => listOpenRuns(tx))).toEqual([])
      await client.call(deleteAppEnv, { appEnvId })
      await expect(usage()).rejects.toMatchObject({ kind: 'not-found' })
    } finally {
      await platform.close()
    }
  })

  it('counts on when containers that were stopped with the platform start again', async () => {
    const platform = await TestPlatform.start()
    try {
      const { client } = platform.admin
      const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
      await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/app:1' })
      const open = () => platform.db.read((tx) => listOpenRuns(tx))
      const [before] = await untilRead(open, ({ length }) => length === 1, 'an open run')
      await platform.reconciler?.stop()
      platform.engine.host.containers.clear()
      await platform.restartReconciler()
      const isAnother = ([run]: { container: string }[]) => run && run.container !== before?.container
      await untilRead(open, (runs) => runs.length === 1 && isAnother(runs) === true, 'a run of its own')
    } finally {
      await platform.close()
    }
  })
})
