import { afterAll, beforeAll, expect, it } from 'vitest'
import { getAppEnvStatus } from '../../../../src/contract/app-env-reads.ts'
import { deployAppEnvImage } from '../../../../src/contract/deployments.ts'
import type { Route } from '../../../../src/gateway/control/protocol.ts'
import type { Db } from '../../../../src/store/db.ts'
import { TestPlatform } from '../../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
/** Environments that had a serving version in the store before the gateway knew any container of them. */
const early: string[] = []
/** Containers that left the routes without a word that they drain. */
const dropped: string[] = []

beforeAll(async () => {
  platform = await TestPlatform.start({ wrapDb: lookBeforeCommit })
  const setRoute = platform.routes.setRoute.bind(platform.routes)
  platform.routes.setRoute = (route) => {
    dropped.push(...lost(platform.routes.routes.get(route.appEnvId), route))
    setRoute(route)
  }
})
afterAll(() => platform.close())

/** Looks at the routes at the last moment before anybody can read what was written. */
function lookBeforeCommit(db: Db): Db {
  const write: Db['write'] = (work) =>
    db.write(async (tx) => {
      const result = await work(tx)
      const rows = await tx.selectFrom('app_envs').select(['app_env_id', 'record']).execute()
      const serving = rows.filter(({ record }) => JSON.parse(record).currentRolloutId !== null)
      early.push(...serving.map((row) => row.app_env_id).filter((id) => active(id).length === 0))
      return result
    })
  return new Proxy(db, {
    get: (target, name) => (name === 'write' ? write : Reflect.get(target, name, target)),
  })
}

const active = (appEnvId: string) =>
  platform.routes.routes.get(appEnvId)?.containers.filter(({ draining }) => !draining) ?? []

function lost(before: Route | undefined, after: Route): string[] {
  const known = new Set(after.containers.map(({ name }) => name))
  return (before?.containers ?? [])
    .filter((one) => !one.draining && !known.has(one.name))
    .map((one) => one.name)
}

async function deploy(appEnvId: string, image: string, version: number) {
  const { client } = platform.admin
  await client.call(deployAppEnvImage, { appEnvId, image })
  await expect
    .poll(() => client.call(getAppEnvStatus, { appEnvId }), { timeout: 30_000 })
    .toMatchObject({ currentVersion: version, currentDeployment: { status: 'DEPLOYED' } })
}

it.each(['CUSTOM', 'FUNCTION'])(
  'the gateway serves a version of a %s that is DEPLOYED',
  async (dockerPreset) => {
    const { appEnvId } = await platform.makeEnvironment({ app: { useImage: true, dockerPreset } })
    for (const version of [1, 2, 3]) await deploy(appEnvId, `good:${version}`, version)
    await platform.reconciler?.settled()
    expect(early).toEqual([])
    expect(dropped).toEqual([])
  },
)
