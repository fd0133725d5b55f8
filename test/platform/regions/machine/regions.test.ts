import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../../../src/config/config.ts'
import { stopAppEnv } from '../../../../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv, updateAppEnv } from '../../../../src/contract/app-envs.ts'
import { listAudit, undoChange } from '../../../../src/contract/audit.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { listRegions } from '../../../../src/contract/regions.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

const image = 'registry.example.com/team/app:1'

describe('regions', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start()
  })
  afterAll(() => platform.close())

  const call = () => platform.admin.client
  const read = (appEnvId: string) => call().call(getAppEnv, { appEnvId })
  const settled = (appEnvId: string) =>
    untilRead(
      () => call().call(getAppEnvStatus, { appEnvId }),
      ({ currentDeployment }) => ['DEPLOYED', 'FAILED'].includes(currentDeployment?.status ?? ''),
      'a finished deployment',
    )
  const deployed = async () => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
    await call().call(deployAppEnvImage, { appEnvId, image })
    await settled(appEnvId)
    return appEnvId
  }
  const containersIn = (engine: typeof platform.engine, appEnvId: string) =>
    engine.running().filter(({ spec }) => spec.appEnvId === appEnvId)

  it('F5 a region without function domain takes apps and refuses functions, at creation and at a move', async () => {
    const { regions } = await call().call(listRegions, {})
    expect(regions.map(({ region, functionDomain }) => [region, functionDomain])).toEqual([
      ['local', 'fn.localhost'],
      ['plain', null],
    ])
    const { appId, appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    const refusal = { kind: 'invalid', message: 'Functions cannot run in this region' }
    const wanted = { accountId: platform.accountId, appId, name: 'far', region: 'plain' }
    await expect(call().call(createAppEnv, wanted)).rejects.toMatchObject(refusal)
    await expect(call().call(updateAppEnv, { appEnvId, region: 'plain' })).rejects.toMatchObject(refusal)
  })

  it('3.3 a change of region marks the environment, serves on until the new place answers, then leaves the old one', async () => {
    const appEnvId = await deployed()
    const [before] = containersIn(platform.engine, appEnvId)
    platform.plainEngine.faults.listenDelayMs = 300
    await call().call(updateAppEnv, { appEnvId, region: 'plain' })
    expect(await read(appEnvId)).toMatchObject({ region: 'plain', changingRegion: true, status: 'UPDATING' })
    await untilRead(
      async () => containersIn(platform.plainEngine, appEnvId).length,
      (count) => count === 1,
      'a container in the new region',
    )
    expect(before?.state).toBe('running')
    expect(platform.routes.routes.get(appEnvId)?.containers[0]?.name).toBe(before?.spec.name)
    const after = await untilRead(
      () => read(appEnvId),
      ({ changingRegion }) => !changingRegion,
      'the move',
    )
    platform.plainEngine.faults.listenDelayMs = 0
    expect(after).toMatchObject({ region: 'plain', status: 'RUNNING' })
    await untilRead(
      async () => containersIn(platform.engine, appEnvId).length,
      (count) => count === 0,
      'the old region left',
    )
    const [moved] = containersIn(platform.plainEngine, appEnvId)
    await untilRead(
      async () => platform.routes.routes.get(appEnvId)?.containers.map(({ name }) => name),
      (names) => names?.length === 1 && names[0] === moved?.spec.name,
      'a route to the new region',
    )
  })

  it('undo moves it back, while the move goes on and after it, and never over a later move', async () => {
    const appEnvId = await deployed()
    const move = (region: string) => call().call(updateAppEnv, { appEnvId, region })
    const undo = async () => {
      const { accountId } = platform
      const { entries } = await call().call(listAudit, { accountId, objectId: appEnvId })
      const last = entries.find(({ operation }) => operation === 'update-app-env')
      return call().call(undoChange, { entryId: last?.entryId ?? '' })
    }
    const moved = (region: string) =>
      untilRead(
        () => read(appEnvId),
        (one) => !one.changingRegion && one.region === region && one.status === 'RUNNING',
        `a move to ${region}`,
      )
    platform.plainEngine.faults.listenDelayMs = 300
    await move('plain')
    expect(await undo()).toMatchObject({ undone: ['region'] })
    platform.plainEngine.faults.listenDelayMs = 0
    await moved('local')
    await move('plain')
    await moved('plain')
    const { message } = await undo()
    expect(message).toContain('plain serves until it does')
    expect(message).not.toContain('pending')
    await moved('local')
    await untilRead(
      async () => [platform.engine, platform.plainEngine].map((one) => containersIn(one, appEnvId).length),
      ([here, there]) => here === 1 && there === 0,
      'one container, where it was',
    )
    await expect(undo()).rejects.toMatchObject({ details: expect.stringContaining('region') })
  })

  it('a move that fails stays where it served and says why', async () => {
    const appEnvId = await deployed()
    platform.plainEngine.faults.failPulls = 'denied'
    await call().call(updateAppEnv, { appEnvId, region: 'plain' })
    const status = await settled(appEnvId)
    platform.plainEngine.faults.failPulls = null
    expect(status.currentDeployment).toMatchObject({ status: 'FAILED', failure: { reason: 'image pull' } })
    expect(status.status).toBe('RUNNING')
    expect(await read(appEnvId)).toMatchObject({ region: 'local', changingRegion: false })
    expect(containersIn(platform.engine, appEnvId)).toHaveLength(1)
  })

  it('a stopped environment only changes where it starts next', async () => {
    const appEnvId = await deployed()
    await call().call(stopAppEnv, { appEnvId })
    await call().call(updateAppEnv, { appEnvId, region: 'plain' })
    const after = await untilRead(
      () => read(appEnvId),
      ({ changingRegion }) => !changingRegion,
      'nothing to move',
    )
    expect(after).toMatchObject({ region: 'plain', status: 'STOPPED' })
    await call().call(deployAppEnvImage, { appEnvId, image })
    await settled(appEnvId)
    expect(containersIn(platform.plainEngine, appEnvId)).toHaveLength(1)
  })

  it('an engine that is away holds up its own region only', async () => {
    const appEnvId = await deployed()
    platform.plainEngine.faults.away = true
    const [container] = containersIn(platform.engine, appEnvId)
    platform.engine.crash(container?.spec.name ?? '')
    await untilRead(
      async () => containersIn(platform.engine, appEnvId).length,
      (count) => count === 1,
      'a new container where the engine answers',
    )
    platform.plainEngine.faults.away = false
  })
})

describe('LONGSHORE_REGIONS', () => {
  it('names regions with their engines; one region `local` when left out', () => {
    const regions = (env: Record<string, string>) => readConfig(env).regions
    expect(regions({})).toEqual([{ region: 'local', engine: 'auto' }])
    expect(regions({ LONGSHORE_REGIONS: 'local=process,box=docker' })).toEqual([
      { region: 'local', engine: 'process' },
      { region: 'box', engine: 'docker' },
    ])
  })

  it('refuses what is unclear', () => {
    const refused = (env: Record<string, string>) => expect(() => readConfig(env)).toThrow('Configuration')
    refused({ LONGSHORE_REGIONS: 'local=vax' })
    refused({ LONGSHORE_REGIONS: 'a=process,a=docker' })
    refused({ LONGSHORE_REGIONS: 'a=process', LONGSHORE_ENGINE: 'docker' })
  })
})
