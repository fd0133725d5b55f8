import { afterAll, beforeAll, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { applyAppEnvChanges } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv, updateAppEnv } from '../../../src/contract/app-envs.ts'
import { listAudit } from '../../../src/contract/audit.ts'
import { createLog } from '../../../src/log.ts'
import { LastRequests } from '../../../src/regions/machine/last-requests.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

it('shows the same impact in a dry run and in the audit entry of the write', async () => {
  const { admin, accountId } = platform
  const { appEnvId } = await platform.makeEnvironment()
  const input = { appEnvId, set: [{ name: 'COLOR', value: 'red' }] }
  const write = (headers = {}) =>
    platform.request('PATCH', '/app-env/variables', { token: admin.token, input, headers })

  const dry = await write({ 'dry-run': 'true' })
  expect(dry.json.impact).toEqual({
    actions: ['change-settings'],
    environments: [appEnvId],
    serving: false,
    containersEnded: 0,
    containersStarted: 0,
    downtimeSeconds: 0,
    dataLost: false,
    undo: 'undo-change',
    zCloudsDelta: 0,
    variables: { changed: ['COLOR'], appliedOf: [] },
    peopleNotified: 0,
  })
  expect((await write()).status).toBe(200)
  const { entries } = await admin.client.call(listAudit, { accountId, limit: 1 })
  expect(entries[0]!.impact).toEqual(dry.json.impact)
})

it('shows who saved each pending change, and whose changes an apply puts in force', async () => {
  const { admin } = platform
  const other = await platform.makeUser()
  const { appEnvId } = await platform.makeEnvironment()
  const set = (token: string, name: string) =>
    platform.request('PATCH', '/app-env/variables', {
      token,
      input: { appEnvId, set: [{ name, value: '1' }] },
    })
  await set(admin.token, 'MINE')
  await set(other.token, 'THEIRS')
  await other.client.call(updateAppEnv, { appEnvId, zClouds: 2 })

  const read = await admin.client.call(getAppEnv, { appEnvId })
  const at = expect.stringMatching(/^\d{4}-.*Z$/)
  const [mine, theirs] = [
    { by: admin.userId, at },
    { by: other.userId, at },
  ]
  expect(read.pendingChanges.deployPendingChanges).toEqual([
    { group: 'Resources', field: 'zClouds', ...theirs },
    {
      ...{ group: 'Environment Variables', field: 'envVars', ...theirs },
      variables: [
        { name: 'MINE', ...mine },
        { name: 'THEIRS', ...theirs },
      ],
    },
  ])

  const dry = await platform.request('POST', '/app-env/apply-changes', {
    token: admin.token,
    input: { appEnvId },
    headers: { 'dry-run': 'true' },
  })
  expect(dry.json.impact.variables.appliedOf).toEqual([
    { name: 'zClouds', by: other.userId },
    { name: 'MINE', by: admin.userId },
    { name: 'THEIRS', by: other.userId },
  ])
  expect(dry.json.effects.join(' ')).toContain(`2 pending changes of ${other.userId} in force`)
  await admin.client.call(applyAppEnvChanges, { appEnvId })
  expect((await admin.client.call(getAppEnv, { appEnvId })).pendingChanges.deployPendingChanges).toEqual([])
})

it('reads pending changes that were saved before authors were recorded', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  await platform.admin.client.call(updateAppEnv, { appEnvId, zClouds: 2 })
  await platform.db.write((tx) =>
    tx.deleteFrom('pending_authors').where('app_env_id', '=', appEnvId).execute(),
  )
  const { pendingChanges } = await platform.admin.client.call(getAppEnv, { appEnvId })
  expect(pendingChanges.deployPendingChanges).toEqual([
    { group: 'Resources', field: 'zClouds', by: null, at: null },
  ])
})

it('counts an environment as serving for an hour after a request', async () => {
  const { appEnvId } = await platform.makeEnvironment()
  const serving = async () => {
    const answer = await platform.request('PUT', '/app-env', {
      token: platform.admin.token,
      input: { appEnvId, name: 'other' },
      headers: { 'dry-run': 'true' },
    })
    return answer.json.impact.serving
  }
  expect(await serving()).toBe(false)
  const requestAgo = async (ms: number) => {
    const clock = { ...systemClock, wallMs: () => Date.now() - ms }
    const requests = new LastRequests({ db: platform.db, clock, log: createLog('test', 'silent') })
    requests.note(appEnvId)
    await expect
      .poll(() => platform.db.read((tx) => tx.selectFrom('last_requests').selectAll().execute()))
      .not.toEqual([])
    await requests.stop()
  }
  await requestAgo(59 * 60_000)
  expect(await serving()).toBe(true)
  await requestAgo(62 * 60_000)
  expect(await serving()).toBe(false)
})
