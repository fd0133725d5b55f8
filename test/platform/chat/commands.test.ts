import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'
import type { TestUser } from '../../../testkit/platform/test-platform.ts'

let chat: ChatFixture
let appEnvId: string
let envName: string
let ann: TestUser
beforeAll(async () => {
  chat = await ChatFixture.start({ publicUrl: 'https://longshore.example.com' })
  const { platform } = chat
  appEnvId = (await platform.makeEnvironment({ app: { name: 'shop' } })).appEnvId
  envName = (await read('/app-env', { appEnvId })).cliEnvName
  await chat.map('UADMIN', platform.admin)
  ann = await platform.makeUser()
  await chat.map('UANN', ann)
})
afterAll(() => chat.close())

async function read(path: string, input: Record<string, unknown>) {
  return (await chat.platform.request('GET', path, { token: chat.platform.admin.token, input })).json
}

const auditOf = async (input: Record<string, unknown> = {}) =>
  (await read('/audit', { accountId: chat.platform.accountId, ...input })).entries

it('unmapped people get a link that works once, whatever they say, and nothing else', async () => {
  for (const text of [
    '',
    'help',
    `status ${envName}`,
    'status none-such',
    `scale ${envName} 3`,
    'approve apv_x',
  ]) {
    const { said, buttons, shared, text: body } = await chat.say('UNEW', text)
    expect(said).toMatch(/^Connect yourself first\nOpen this link .*\/console\/chat\?code=[\w-]{43}$/m)
    expect([buttons, shared, body.includes(envName)]).toEqual([[], false, false])
  }
  const link = async () => /code=([\w-]{43})/.exec((await chat.say('UNEW', 'help')).said)![1]!
  const old = await link()
  const code = await link()
  const bob = await chat.platform.makeUser()
  const use = (text: string) =>
    chat.platform.request('POST', '/chat-user', { token: bob.token, input: { code: text } })
  expect((await use(old)).status).toBe(404)
  const done = await use(code)
  expect(done.json.message).toContain('name of UNEW (UNEW of T1) in Team')
  expect((await use(code)).status).toBe(404)
  expect((await chat.say('UNEW', `status ${envName}`)).said).toContain(envName)
})

it('reads say what the tools say, to the asker only unless it is shared', async () => {
  const status = await chat.say('UANN', `status ${envName}`)
  expect(status.said).toBe(`${envName} is STOPPED: no version has served yet.`)
  expect(status.shared).toBe(false)
  const shared = await chat.click(
    'UANN',
    status.buttons.find(({ action_id: one }) => one === 'share'),
  )
  expect([shared.said, shared.shared, shared.buttons]).toEqual([status.said, true, []])
  expect((await chat.say('UANN', `status ${envName} --share`)).shared).toBe(true)
  expect((await chat.say('UANN', 'status shop/prod')).said).toBe(status.said)
  expect((await chat.say('UANN', `status ${appEnvId}`)).said).toBe(status.said)
  expect((await chat.say('UANN', `why ${envName}`)).said).toContain(`${envName} is `)
  expect((await chat.say('UANN', `logs ${envName} 5`)).said).toContain('The RUNTIME log is empty')
  expect((await chat.say('UANN', 'alerts')).said).toContain('0 alerts')
})

it('names the nearest command and the nearest environment', async () => {
  expect((await chat.say('UANN', `statsu ${envName}`)).said).toMatch(/Did you mean `\/longshore status/)
  expect((await chat.say('UANN', `status ${envName.slice(0, -1)}x`)).said).toContain(
    `Did you mean ${envName}?`,
  )
  expect((await chat.say('UANN', 'status')).said).toContain('Name an environment')
  expect((await chat.say('UANN', 'toString')).said).toContain('There is no such command')
})

it('a write shows its effects first, and runs once, for the person who question, as they were shown', async () => {
  const before = await read('/app-env', { appEnvId })
  const question = await chat.say('UADMIN', `scale ${envName} 3`)
  expect(question.said).toMatch(/^This would:\n• /)
  expect((await read('/app-env', { appEnvId })).revision).toBe(before.revision)
  const [confirm] = question.buttons
  expect((await chat.click('UANN', confirm)).said).toContain('no longer open')
  const both = await Promise.all([chat.click('UADMIN', confirm), chat.click('UADMIN', confirm)])
  expect(both.filter(({ said }) => said.includes('no longer open'))).toHaveLength(1)
  expect((await read('/app-env', { appEnvId })).containers).toBe(3)

  const stale = await chat.say('UADMIN', `scale ${envName} 5`)
  const { token } = chat.platform.admin
  await chat.platform.request('PATCH', '/app-env/containers', { token, input: { appEnvId, containers: 4 } })
  const shown = await chat.click('UADMIN', stale.buttons[0])
  expect(shown.said).toMatch(/^It would do something else now/)
  expect((await read('/app-env', { appEnvId })).containers).toBe(4)
  expect((await chat.click('UADMIN', shown.buttons[1])).said).toContain('Canceled')
  expect((await chat.click('UADMIN', shown.buttons[0])).said).toContain('no longer open')

  const [entry] = await auditOf({ surface: 'chat' })
  expect(entry).toMatchObject({
    operation: 'scale-app-env-containers',
    callerKind: 'person',
    principal: { id: chat.platform.admin.userId },
    chat: { connectionId: chat.connectionId, workspace: 'T1', user: 'UADMIN' },
  })
})

it('chat-rights The channel gives no rights: a member who may not do it gets the refusal of REST, at that moment', async () => {
  expect((await chat.say('UANN', 'pause agents')).said).toContain('Manage Members permission required')
  const { platform } = chat
  const bob = await platform.makeUser()
  await chat.map('UBOB', bob)
  const question = await chat.say('UBOB', `scale ${envName} 2`)
  const { accountId } = platform
  await platform.request('PATCH', '/account', {
    token: platform.admin.token,
    input: { accountId, memberEnvAccessEnabled: true },
  })
  const [other] = (await platform.makeEnvironment()).appEnvId.split(' ')
  await platform.request('PATCH', '/member/env-access', {
    token: platform.admin.token,
    input: { accountId, membershipId: bob.membershipId, allowedAppEnvIds: [other] },
  })
  expect((await chat.click('UBOB', question.buttons[0])).said).toContain('no access')
  expect((await chat.say('UBOB', `status ${appEnvId}`)).said).toContain('not found')
  await platform.request('DELETE', '/member', {
    token: platform.admin.token,
    input: { accountId, membershipId: bob.membershipId },
  })
  expect((await chat.say('UBOB', `status ${appEnvId}`)).said).toMatch(/^Connect yourself first/)
})

it('a member of two accounts acts in that of the connection only', async () => {
  const { platform } = chat
  const elsewhere = await platform.makeAccount('Elsewhere')
  const eve = await platform.makeUser()
  await platform.db.write((tx) =>
    tx
      .insertInto('memberships')
      .values({ ...membershipRow(eve.userId), account_id: elsewhere })
      .execute(),
  )
  const foreign = await platform.makeEnvironment({ by: eve.client, accountId: elsewhere })
  await chat.map('UEVE', eve)
  expect((await chat.say('UEVE', `status ${foreign.appEnvId}`)).said).toContain('not found')
})

function membershipRow(userId: string) {
  return {
    membership_id: 'mem_elsewhere',
    user_id: userId,
    admin: 1,
    manage_members: 1,
    created_at: chat.platform.now,
    revision: 1,
    allowed_app_env_ids: '[]',
    invitation_id: null,
    invited_by: null,
  }
}
