import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  applyAppEnvChanges,
  restartAppEnv,
  scaleAppEnvContainers,
  updateAppEnvAutoscaling,
} from '../../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { getAppEnv, updateAppEnv } from '../../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

const image = 'registry.example.com/team/app:1'

describe('volumes of regular apps', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start()
  })
  afterAll(() => platform.close())

  const call = () => platform.admin.client
  const settled = (appEnvId: string) =>
    untilRead(
      () => call().call(getAppEnvStatus, { appEnvId }),
      ({ currentDeployment }) => ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status ?? ''),
      'a finished deployment',
    )
  const make = async (environment: Record<string, unknown>) => {
    const { appEnvId } = await platform.makeEnvironment({
      app: { useImage: true },
      environment: {
        envVars: [{ name: 'DATA_DIR', value: '/data', type: 'DEPLOY', isSecret: false }],
        ...environment,
      },
    })
    await call().call(deployAppEnvImage, { appEnvId, image })
    await settled(appEnvId)
    return appEnvId
  }
  const containers = (appEnvId: string) =>
    platform.engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)
  const ask = async (appEnvId: string, path: string) => {
    const address = containers(appEnvId)[0]?.view().address
    return (await fetch(`http://${address?.host}:${address?.port}${path}`)).text()
  }

  it('keeps files over a restart, and never runs two containers on one volume', async () => {
    const appEnvId = await make({ useVolume: true })
    expect(await call().call(getAppEnv, { appEnvId })).toMatchObject({ useVolume: true, mountPath: '/data' })
    await ask(appEnvId, '/write?name=note&text=kept')
    let most = 0
    const unwatch = platform.engine.watch(() => {
      most = Math.max(most, containers(appEnvId).length)
    })
    await call().call(restartAppEnv, { appEnvId })
    await settled(appEnvId)
    unwatch()
    expect(most).toBe(1)
    expect(await ask(appEnvId, '/read?name=note')).toBe('kept')
  })

  it('brings the old version back when the new one does not start', async () => {
    const appEnvId = await make({ useVolume: true })
    await ask(appEnvId, '/write?name=note&text=kept')
    platform.engine.faults.failStarts = { times: 1, reason: 'exited', message: 'told to fail' }
    await call().call(restartAppEnv, { appEnvId })
    expect((await settled(appEnvId)).currentDeployment).toMatchObject({ status: 'FAILED' })
    await untilRead(
      async () => containers(appEnvId).length,
      (count) => count === 1,
      'the old version again',
    )
    expect(await ask(appEnvId, '/read?name=note')).toBe('kept')
  })

  it('3.3 turning it on is pending until applied; turning it off forgets the path', async () => {
    const appEnvId = await make({})
    await call().call(updateAppEnv, { appEnvId, useVolume: true, mountPath: '/app/files' })
    const { pendingChanges } = await call().call(getAppEnv, { appEnvId })
    expect(pendingChanges.deployPendingChanges).toMatchObject([
      { group: 'Storage', field: 'useVolume' },
      { group: 'Storage', field: 'mountPath' },
    ])
    expect(containers(appEnvId)[0]?.spec.mounts).toBeUndefined()
    await call().call(applyAppEnvChanges, { appEnvId })
    await settled(appEnvId)
    expect(containers(appEnvId)[0]?.spec.mounts).toEqual([{ volume: 'data', path: '/app/files' }])
    await call().call(updateAppEnv, { appEnvId, useVolume: false })
    expect(await call().call(getAppEnv, { appEnvId })).not.toHaveProperty('mountPath')
  })

  it('has one container', async () => {
    const appEnvId = await make({ useVolume: true })
    const one = { kind: 'invalid', message: 'An environment with a volume has one container' }
    await expect(call().call(scaleAppEnvContainers, { appEnvId, containers: 2 })).rejects.toMatchObject(one)
    const autoscaling = { appEnvId, enabled: true, maxContainers: 3 }
    await expect(call().call(updateAppEnvAutoscaling, autoscaling)).rejects.toMatchObject(one)
  })

  it('F7 is refused for functions, at creation and at a change', async () => {
    const refusal = { kind: 'invalid', message: 'Persistent volumes are unsupported for functions' }
    const app = { dockerPreset: 'FUNCTION' }
    const wanted = { app, environment: { useVolume: true } }
    await expect(platform.makeEnvironment(wanted)).rejects.toMatchObject(refusal)
    const { appEnvId } = await platform.makeEnvironment({ app })
    await expect(call().call(updateAppEnv, { appEnvId, useVolume: true })).rejects.toMatchObject(refusal)
  })

  it('refuses a path that belongs to the system, and a path without volume', async () => {
    const { appEnvId } = await platform.makeEnvironment({})
    const paths = ['/proc/self', '/./proc', '/.', '/data/..', '/data/./x']
    const refused = paths.map((mountPath) => ({ useVolume: true, mountPath }))
    for (const change of [...refused, { mountPath: '/data' }])
      await expect(call().call(updateAppEnv, { appEnvId, ...change })).rejects.toMatchObject({
        kind: 'invalid',
      })
  })
})
