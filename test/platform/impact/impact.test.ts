import { afterAll, beforeAll, expect, it } from 'vitest'
import { listAudit } from '../../../src/contract/audit.ts'
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
