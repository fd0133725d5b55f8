import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

type Json = Record<string, unknown>

describe('a write that a rule asks about', () => {
  let platform: TestPlatform
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false })
  })
  afterAll(() => platform.close())

  const call = (method: string, path: string, input: Json, by: { token: string } = platform.admin) =>
    platform.request(method, path, { token: by.token, input })
  const environment = async () => (await platform.makeEnvironment()).appEnvId
  const read = async (approvalId: string) => (await call('GET', '/approval', { approvalId })).json
  const decide = (
    { approvalId, reviewDigest }: { approvalId: string; reviewDigest: string },
    by = platform.admin,
  ) => call('POST', '/approval/decide', { approvalId, reviewDigest, decision: 'approve' }, by)
  const names = async (appEnvId: string) =>
    (await call('GET', '/app-env', { appEnvId })).json.envVars.map(({ name }: { name: string }) => name)

  it('waits, and runs once people agree', async () => {
    const { accountId } = platform
    const appEnvId = await environment()
    const bot = (await call('POST', '/user/tokens', { name: 'bot', kind: 'agent', label: 'Fixer' })).json
    const rule = {
      id: 'agents-ask',
      effect: 'ask',
      who: { kinds: ['agent'] },
      on: { operations: ['update-app-env-variables'] },
      approvers: { count: 2 },
      expiresSeconds: 3600,
    }
    const set = await call('PUT', '/policy', { accountId, policy: { mode: 'enforce', rules: [rule] } })
    expect(set.status, set.text).toBe(200)
    const write = () =>
      call('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'A', value: '1' }] }, bot)
    const held = await write()
    expect(held.status, held.text).toBe(202)
    expect(held.json).toMatchObject({
      status: 'pending',
      ruleId: 'agents-ask',
      approvers: { count: 2, notRequester: false },
      impact: { variables: { changed: ['A'] } },
      url: expect.stringContaining(held.json.approvalId),
    })
    // The same request again is the same approval, and people decide once.
    expect((await write()).json.approvalId).toBe(held.json.approvalId)
    expect(await names(appEnvId)).toEqual([])
    const approval = await read(held.json.approvalId)
    expect(approval.requestedBy).toMatchObject({ kind: 'agent', agent: 'Fixer' })
    const first = await decide(approval)
    expect(first.json.approval.status, first.text).toBe('pending')
    expect((await decide(approval)).status).toBe(409)
    const other = await platform.makeUser()
    const second = await decide(approval, other)
    expect(second.json.approval?.status, second.text).toBe('executed')
    expect(await names(appEnvId)).toEqual(['A'])
    const again = await write()
    expect(again.status).toBe(202)
    expect(again.json.approvalId).not.toBe(held.json.approvalId)
    await call('PUT', '/policy', { accountId, policy: { mode: 'enforce', rules: [] } })
  })
})
