import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLog } from '../../../src/log.ts'
import { Receiver } from '../../../testkit/alerting/receiver.ts'
import type { Json } from '../../../testkit/api/scenario-call.ts'
import { openToolSession } from '../../../testkit/mcp/tool-session.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { rowsOf } from '../../../testkit/secrets/canaries.ts'
import type { ScenarioFixture } from '../../../testkit/secrets/scenario-steps.ts'
import { secretScenarios } from '../../../testkit/secrets/scenarios.ts'
import { surfaces } from '../../../testkit/secrets/surfaces.ts'
import { SecretSweep } from '../../../testkit/secrets/sweep.ts'

const sweep = new SecretSweep()
const { secrets, outputs } = sweep
const log = { where: 'log of the platform', text: '' }
let receiver: Receiver

beforeAll(async () => {
  receiver = await Receiver.start()
  const write = (line: string) => {
    log.text += line
  }
  sweep.platform = await TestPlatform.start({ log: createLog('scenarios', 'trace', { write }) })
  const { admin, apiUrl } = sweep.platform
  secrets.know('token of the admin', admin.token)
  const person = () => ({ action: 'accept' as const, content: { agree: true } })
  const toolPolicy = { allowSecrets: true }
  sweep.session = await openToolSession(apiUrl, { token: admin.token, toolPolicy, person })
})
afterAll(async () => {
  await sweep.session?.close()
  await sweep.platform.close()
  await receiver.close()
})

describe.each(Object.keys(surfaces))('what reaches an operator on %s has no secret', (surface) => {
  it.each(Object.keys(secretScenarios))('%s', async (name) => {
    const before = outputs.length
    const known = secrets.count
    const calls = surfaces[surface]!
    const [send, look] = [calls(sweep), calls(sweep, true)]
    const fixture: ScenarioFixture = { sweep, receiver, send, look, surface }
    await secretScenarios[name]!(fixture)
    expect(secrets.count, 'a scenario without a secret proves nothing').toBeGreaterThan(known)
    expect(outputs.length).toBeGreaterThan(before)
    expect(secrets.foundIn(outputs.slice(before))).toEqual([])
  })
})

it('nor do the audit log, notifications, the store and the log of the platform', async () => {
  const { accountId } = sweep.platform
  const before = outputs.length
  let cursor: string | null = null
  do {
    const input: Json = { accountId, limit: 200, ...(cursor ? { cursor } : {}) }
    cursor = (await surfaces.REST!(sweep)('list-audit', input)).cursor
  } while (cursor)
  const bodies = { where: 'notifications', text: JSON.stringify(receiver.sent.map(({ body }) => body)) }
  expect(bodies.text).toContain('"event"')
  expect(secrets.foundIn([...outputs.slice(before), bodies])).toEqual([])
  await sweep.platform.log.flush?.()
  expect(log.text.length).toBeGreaterThan(1_000)
  expect(secrets.foundIn([log])).toEqual([])
  expect(secrets.foundIn(await rowsOf(sweep.platform.db), { inStore: true })).toEqual([])
  // Where a secret was requested in so many words, it was shown: the canaries are the real ones.
  const shown = secrets.foundIn(sweep.explicit).join('\n')
  for (const name of ['generated value', 'rotated password', 'password of', 'new'])
    for (const surface of Object.keys(surfaces))
      expect(shown).toMatch(new RegExp(`^${name}.*, ${surface} in`, 'm'))
})
