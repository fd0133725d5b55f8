import { afterEach, describe, expect, it } from 'vitest'
import { stopAppEnv } from '../../../../src/contract/app-env-actions.ts'
import { getAppEnvPods, getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deleteAppEnv } from '../../../../src/contract/app-envs.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import { FakeEngine } from '../../../../testkit/fakes/engine.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'
import { untilRead } from '../../../../testkit/until.ts'

let platform: TestPlatform
afterEach(() => platform.close())

/** A function that serves with one container, on an engine that can create containers ahead. */
async function serving() {
  const engine = new FakeEngine({ prepares: true })
  platform = await TestPlatform.start({ engine })
  const { appEnvId } = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
  await deploy(appEnvId, 'sample:1')
  await spares(1)
  return appEnvId
}

async function deploy(appEnvId: string, image: string): Promise<void> {
  const { contentId } = await platform.admin.client.call(deployAppEnvImage, { appEnvId, image })
  await untilRead(
    () => platform.admin.client.call(getAppEnvStatus, { appEnvId }),
    ({ currentDeployment }) =>
      currentDeployment?.contentId === contentId && currentDeployment.status === 'DEPLOYED',
    'a deployed version',
  )
}

const created = () => [...platform.engine.host.containers.values()].filter(({ state }) => state === 'created')
const spares = (count: number) =>
  untilRead(
    async () => created(),
    (containers) => containers.length === count,
    `${count} prepared containers`,
    8_000,
  )

async function desire(appEnvId: string, containers: number): Promise<void> {
  platform.reconciler?.desire(appEnvId, containers)
  // A gateway would have drained those it needs no more.
  for (const { spec } of platform.engine.running().slice(containers)) {
    platform.reconciler?.drained(appEnvId, spec.name)
  }
  await untilRead(
    async () => platform.engine.running().length,
    (running) => running === containers,
    `${containers} running containers`,
    8_000,
  )
}

describe('a container made ahead', () => {
  it('F1 F2 is what a cold start starts, and shows nowhere before', async () => {
    const appEnvId = await serving()
    await desire(appEnvId, 0)
    const [prewarmed] = await spares(1)
    const { pods } = await platform.admin.client.call(getAppEnvPods, { appEnvId })
    expect(pods.map((pod) => pod.name)).not.toContain(prewarmed?.spec.name)
    await untilRead(
      () => platform.admin.client.call(getAppEnvStatus, { appEnvId }),
      ({ containers }) => containers.running === 0,
      'nothing that runs',
    )
    await desire(appEnvId, 1)
    expect(platform.engine.running()[0]?.spec.name).toBe(prewarmed?.spec.name)
    const after = await platform.admin.client.call(getAppEnvPods, { appEnvId })
    expect(after.pods[0]?.name).toBe(prewarmed?.spec.name)
    // And the next one is ready to be started.
    const [next] = await spares(1)
    expect(next?.spec.name).not.toBe(prewarmed?.spec.name)
  })

  it('is of the version that serves, never of an earlier one', async () => {
    const appEnvId = await serving()
    const [first] = created()
    await deploy(appEnvId, 'sample:2')
    const [second] = await untilRead(
      async () => created(),
      (containers) => containers.length === 1 && containers[0]?.spec.image === 'sample:2',
      'one prepared container of the new version',
    )
    expect(second?.spec.name).not.toBe(first?.spec.name)
  })

  it('is not made beyond maxScale, and goes when the function stops or is deleted', async () => {
    const appEnvId = await serving()
    await desire(appEnvId, 3)
    await spares(0)
    await desire(appEnvId, 1)
    await spares(1)
    await platform.admin.client.call(stopAppEnv, { appEnvId })
    await spares(0)
    const other = await platform.makeEnvironment({ app: { dockerPreset: 'FUNCTION' } })
    await deploy(other.appEnvId, 'sample:1')
    await spares(1)
    await platform.admin.client.call(deleteAppEnv, { appEnvId: other.appEnvId })
    await untilRead(
      async () => platform.engine.host.containers.size,
      (size) => size === 0,
      'no container at all',
    )
  })

  it('is not taken for an orphan', async () => {
    await serving()
    const [before] = created()
    const lists = () => platform.engine.calls.filter((call) => call === 'list').length
    const soFar = lists()
    platform.reconciler?.unreachable('', '')
    await untilRead(
      async () => lists(),
      (count) => count > soFar + 1,
      'two more looks',
    )
    expect(created()).toEqual([before])
  })

  it('costs only the time it saves when it cannot be made', async () => {
    const appEnvId = await serving()
    await desire(appEnvId, 0)
    const [prewarmed] = await spares(1)
    platform.engine.host.containers.delete(prewarmed?.spec.name ?? '')
    await desire(appEnvId, 1)
    expect(platform.engine.running()).toHaveLength(1)
  })
})
