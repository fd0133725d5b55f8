import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'
import { randomOf } from '../../../testkit/random.ts'

const seed = Number(process.env.TEST_SEED ?? 20_261_129)
const requests = 10_000
const together = 20
const minuteMs = 60_000

let chat: ChatFixture
beforeAll(async () => {
  chat = await ChatFixture.start({}, { channel: '' })
})
afterAll(() => chat.close())

type Form = Record<string, string>
interface Attempt {
  kind: string
  form: Form
  given: Parameters<ChatFixture['send']>[1]
}

it(`chat-request Of ${requests} forged, old, replayed, unmapped and foreign commands and clicks none is accepted`, async () => {
  const { platform, slack } = chat
  const random = randomOf(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const { appEnvId } = await platform.makeEnvironment()
  const admin = platform.admin
  await chat.map('UADMIN', admin)
  const gone = await platform.makeUser({ admin: true })
  const goneId = await chat.map('UGONE', gone)
  // As if the removal had left the chat user behind.
  await platform.db.write((tx) =>
    tx.deleteFrom('memberships').where('membership_id', '=', gone.membershipId).execute(),
  )
  const member = await platform.makeUser()
  await chat.map('UMEMBER', member)
  const elsewhere = await ChatFixture.connect(
    platform,
    await platform.makeAccount('Elsewhere'),
    'its-own-secret',
  )

  const question = (await chat.say('UADMIN', `scale ${appEnvId} 7`)).buttons[0]!
  const set = [{ name: 'COLOR', value: 'red', isSecret: false }]
  const steps = [{ operation: 'update-app-env-variables', input: { appEnvId, set } }]
  const plan = await platform.request('POST', '/plan', {
    token: admin.token,
    input: { accountId: platform.accountId, title: 'Red', steps },
  })
  const { approvalId, reviewDigest } = plan.json
  const approve = { action_id: 'approve', value: `${approvalId} ${reviewDigest}` }
  const guessed = { action_id: 'approve', value: `${approvalId} ${'0'.repeat(64)}` }
  const seen = slack.command('UADMIN', 'help').form
  const seenMs = platform.clock.wallMs()
  expect((await chat.send(seen, { atMs: seenMs })).status).toBe(200)

  const commandOf = (user: string): Form =>
    slack.command(
      user,
      pick([`scale ${appEnvId} 9`, `deploy ${appEnvId} nginx:1`, 'pause agents', `deny ${approvalId} no`]),
    ).form
  const clickOf = (user: string, buttons = [question, approve, guessed]): Form => ({
    payload: JSON.stringify(slack.click(user, pick(buttons)).payload),
  })
  const anyOf = (user: string): Form => (random() < 0.5 ? commandOf(user) : clickOf(user))
  const attempts: (() => Attempt)[] = [
    () => ({
      kind: 'forged',
      form: anyOf('UADMIN'),
      given: { secret: pick(['', 'guessed', 'its-own-secret']) },
    }),
    () => ({
      kind: 'forged',
      form: anyOf('UADMIN'),
      given: { signature: pick(['', 'v0=', `v0=${'0'.repeat(64)}`]) },
    }),
    () => ({
      kind: 'old',
      form: anyOf('UADMIN'),
      given: { atMs: platform.clock.wallMs() + pick([-1, 1]) * (5.1 + random() * 1e6) * minuteMs },
    }),
    () => ({ kind: 'replayed', form: seen, given: { atMs: seenMs - pick([0, 1, 2]) * 1_000 } }),
    () => ({
      kind: 'unknown',
      form: anyOf('UADMIN'),
      given: { connectionId: pick(['cht_none', elsewhere]) },
    }),
    () => ({ kind: 'unmapped', form: anyOf(`U${Math.floor(random() * 1e6)}`), given: {} }),
    // The same person, over the connection of another account.
    () => ({
      kind: 'unmapped',
      form: anyOf('UADMIN'),
      given: { connectionId: elsewhere, secret: 'its-own-secret' },
    }),
    () => ({ kind: 'unmapped', form: { ...commandOf('UADMIN'), team_id: 'T2' }, given: {} }),
    () => ({ kind: 'lost', form: anyOf('UGONE'), given: {} }),
    () => ({ kind: 'foreign', form: clickOf('UMEMBER', [question, guessed]), given: {} }),
    () => ({ kind: 'foreign', form: slack.command('UMEMBER', 'pause agents').form, given: {} }),
  ]
  const counts: Record<string, number> = {}
  const wrong: string[] = []
  for (let done = 0; done < requests; done += together) {
    const batch = Array.from({ length: together }, () => pick(attempts)())
    await Promise.all(
      batch.map(async ({ kind, form, given }) => {
        const { status, text } = await chat.send(form, given)
        counts[kind] = (counts[kind] ?? 0) + 1
        const isRefused = ['forged', 'old', 'replayed', 'unknown'].includes(kind)
        if (status !== (isRefused ? 401 : 200)) wrong.push(`${kind}: ${status} ${text}`)
        if (kind === 'unmapped' && text !== '' && !text.includes('Connect yourself first')) wrong.push(text)
        if (['lost', 'foreign'].includes(kind) && text !== '' && !text.includes('Not done')) wrong.push(text)
      }),
    )
  }
  await platform.chat.receiver.stop()
  const answers = [...slack.responses.values()].flat().map(({ text }) => String(text))
  expect(answers.filter((text) => !/^(Connect yourself first|Not done)/.test(text))).toEqual([])
  expect(wrong).toEqual([])
  expect(Object.keys(counts).length).toBe(7)

  const { token } = admin
  const entries = await platform.db.read((tx) =>
    tx
      .selectFrom('audit_log')
      .select(['operation', 'outcome'])
      .where('surface', '=', 'chat')
      .where('outcome', '=', 'done')
      .execute(),
  )
  expect(entries).toEqual([])
  const after = await platform.request('GET', '/approval', { token, input: { approvalId } })
  expect([after.json.status, after.json.decisions]).toEqual(['pending', []])
  // The question of the right person is still open, and works.
  expect((await chat.click('UADMIN', question)).said).not.toContain('Not done')
  const env = await platform.request('GET', '/app-env', { token, input: { appEnvId } })
  expect([env.json.containers, goneId.slice(0, 4)]).toEqual([7, 'chu_'])
})
