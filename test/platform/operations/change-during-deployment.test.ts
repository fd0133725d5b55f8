import { afterAll, beforeAll, expect, it } from 'vitest'
import { scaleAppEnvContainers, updateAppEnvAutoscaling } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { listAudit, undoChange } from '../../../src/contract/audit.ts'
import { deployAppEnvImage } from '../../../src/contract/deployments.ts'
import { RolloutWriter } from '../../../src/regions/rollouts/writer.ts'
import { findEnvironment } from '../../../src/store/repositories/environments.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const environmentOf = async (appEnvId: string) =>
  (await platform.db.read((tx) => findEnvironment(tx, { appEnvId })))!

/** An app of five containers whose first deployment is under way. */
async function deploying(): Promise<string> {
  const { client } = platform.admin
  const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true } })
  await client.call(scaleAppEnvContainers, { appEnvId, containers: 5 })
  await client.call(deployAppEnvImage, { appEnvId, image: 'registry.example.com/app:1' })
  return appEnvId
}

/** The containers that should run once the deployment is through. */
async function promoted(appEnvId: string) {
  const { wantedRolloutId } = await environmentOf(appEnvId)
  await new RolloutWriter(platform.db, () => platform.clock.wallMs()).promote(appEnvId, wantedRolloutId!)
  const { pendingChanges } = await platform.admin.client.call(getAppEnv, { appEnvId })
  const { applied } = await environmentOf(appEnvId)
  return { containers: applied.containers, pending: pendingChanges.hasDeployChanges }
}

it('the end of a deployment keeps the count that autoscaling set meanwhile', async () => {
  const appEnvId = await deploying()
  await platform.admin.client.call(updateAppEnvAutoscaling, { appEnvId, enabled: true, maxContainers: 2 })
  expect(await promoted(appEnvId)).toEqual({ containers: 2, pending: false })
})

it('the end of a deployment keeps what an undo put back meanwhile', async () => {
  const { client } = platform.admin
  const appEnvId = await deploying()
  const { entries } = await client.call(listAudit, { accountId: platform.accountId, objectId: appEnvId })
  const { entryId } = entries.find(({ operation }) => operation === 'scale-app-env-containers')!
  await client.call(undoChange, { entryId })
  expect(await promoted(appEnvId)).toEqual({ containers: 1, pending: false })
})
