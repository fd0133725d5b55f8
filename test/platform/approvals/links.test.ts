import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMailer } from '../../../src/alerting/notifiers/email.ts'
import { Secret } from '../../../src/log.ts'
import { mailApprovalLinks } from '../../../src/operations/approvals/link-mail.ts'
import { resealEverything } from '../../../src/store/secrets/rotate.ts'
import {
  addDataKey,
  parseMasterKey,
  type RefreshingSecretBox,
} from '../../../src/store/secrets/secret-box.ts'
import { MailServer } from '../../../testkit/alerting/mail-server.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

type Json = Record<string, unknown>

describe('mailed links of approvals', () => {
  const clock = new TestClock()
  let platform: TestPlatform
  let mails: MailServer
  let admin: TestUser
  let approver: TestUser
  let agent = ''
  let appEnvId = ''
  beforeAll(async () => {
    mails = await MailServer.start()
    platform = await TestPlatform.start({ reconciles: false, clock, smtpUrl: mails.url })
    admin = platform.admin
    approver = await platform.makeUser({ admin: true })
    ;({ appEnvId } = await platform.makeEnvironment())
    const made = await call('POST', '/user/tokens', { name: 'bot', kind: 'agent', label: 'Deploy bot' })
    agent = made.json.token
    const rules = [
      { id: 'four-eyes', effect: 'ask', who: { kinds: ['agent'] }, approvers: { notRequester: true } },
    ]
    const set = await call('PUT', '/policy', { accountId: platform.accountId, mode: 'enforce', rules })
    expect(set.status, set.text).toBe(200)
  })
  afterAll(async () => {
    await platform.close()
    await mails.close()
  })
  beforeEach(() => mails.mails.splice(0))

  const call = (method: string, path: string, input: Json, token = admin.token) =>
    platform.request(method, path, { token, input })
  const deliver = () =>
    mailApprovalLinks({
      ...{ db: platform.db, clock, secrets: platform.secrets, publicUrl: () => platform.apiUrl },
      mailer: createMailer({ url: mails.url, clock, deadlineMs: 10_000 }),
    })
  /** A write of the agent that a rule asks about. */
  const held = async (name: string): Promise<string> => {
    const set = [{ name, value: `value-of-${name}`, isSecret: false }]
    const answer = await call('PATCH', '/app-env/variables', { appEnvId, set }, agent)
    expect(answer.status, answer.text).toBe(202)
    return answer.json.approvalId
  }
  const linkTo = (address: string): string => {
    const mail = mails.mails.find(({ to }) => to.includes(address))!
    const text = mail.raw.replaceAll(/=\r?\n/g, '').replaceAll('=3D', '=')
    return /http:\/\/\S+\/console\/approval-link\/[\w.-]+/.exec(text)![0]
  }
  const linkOf = async (name: string) => {
    const approvalId = await held(name)
    await deliver()
    return { approvalId, link: linkTo(approver.email) }
  }
  const decide = (link: string, decision: string, comment = '') =>
    fetch(link, { method: 'POST', body: new URLSearchParams({ decision, comment }) })
  const statusOf = async (approvalId: string) => (await call('GET', '/approval', { approvalId })).json.status
  const shows = async (link: string) => {
    const answer = await fetch(link)
    return { status: answer.status, text: await answer.text() }
  }

  it('needs-approval: goes to everybody who may approve, and to no requester where the rule wants another person', async () => {
    await platform.makeUser({ admin: false })
    await held('MAILED')
    await deliver()
    await deliver()
    const to = mails.mails.flatMap((mail) => mail.to)
    expect(to).toContain(approver.email)
    expect(to).not.toContain(admin.email)
    // One mail each, and a link of its own in each.
    expect(new Set(to).size).toBe(to.length)
    expect(new Set(to.map(linkTo)).size).toBe(to.length)
  })

  it('shows the changes, decides nothing when it is opened, and once on a click', async () => {
    const { approvalId, link } = await linkOf('CLICKED')
    for (const method of ['GET', 'HEAD', 'GET']) expect((await fetch(link, { method })).status).toBe(200)
    const { text } = await shows(link)
    for (const words of ['Deploy bot', 'value-of-CLICKED', 'It can be undone.', 'name="decision"'])
      expect(text).toContain(words)
    expect(await statusOf(approvalId)).toBe('pending')

    const done = await decide(link, 'approve', 'From my phone')
    expect(await done.text()).toContain('Approved and done')
    const { json } = await call('GET', '/approval', { approvalId })
    expect(json).toMatchObject({
      status: 'executed',
      decisions: [
        { userId: approver.userId, surface: 'link', decision: 'approve', comment: 'From my phone' },
      ],
    })
    expect((await decide(link, 'deny')).status).toBe(409)
    expect((await shows(link)).text).toContain('You used this link. It was approved and is done.')
    const audit = await call('GET', '/audit', { accountId: platform.accountId, surface: 'link' })
    expect(audit.json.entries).toContainEqual(
      expect.objectContaining({
        ...{ operation: 'decide-approval', outcome: 'done', callerKind: 'person' },
        principal: expect.objectContaining({ id: approver.userId }),
      }),
    )
  })

  it('two clicks at once decide once', async () => {
    const { approvalId, link } = await linkOf('TWICE')
    const statuses = (await Promise.all([1, 2, 3].map(() => decide(link, 'approve')))).map(
      ({ status }) => status,
    )
    expect(statuses.sort()).toEqual([200, 409, 409])
    expect((await call('GET', '/approval', { approvalId })).json.decisions).toHaveLength(1)
  })

  it('is good for its own approval and person only, and for nothing else', async () => {
    const { approvalId, link } = await linkOf('OWN')
    mails.mails.splice(0)
    const other = (await linkOf('OTHER')).link
    const code = link.split('/').at(-1)!
    const [id, signature] = code.split('.')
    const altered = [
      code.slice(0, -1),
      `${id}.`,
      `${id}.${'A'.repeat(signature!.length)}`,
      `${other.split('/').at(-1)!.split('.')[0]}.${signature}`,
      id,
      'nothing',
    ]
    for (const wrong of altered) {
      const address = link.replace(code, wrong!)
      expect((await fetch(address)).status, wrong).toBe(404)
      expect((await decide(address, 'approve')).status, wrong).toBe(404)
    }
    for (const token of [code, id!]) expect((await call('GET', '/user', {}, token)).status).toBe(401)
    expect((await decide(link, 'maybe')).status).toBe(400)
    expect(await statusOf(approvalId)).toBe('pending')
  })

  it('works on after the keys of the store were rotated', async () => {
    const { approvalId, link } = await linkOf('ROTATED')
    const { db, secrets, now } = platform
    const [keyId] = await db.write((tx) => addDataKey(tx, parseMasterKey(new Secret('11'.repeat(32))), now))
    await (secrets as RefreshingSecretBox).refresh()
    await resealEverything(db, secrets, keyId)
    const rows = await db.read((tx) => tx.selectFrom('approval_links').select('sealed').execute())
    for (const { sealed } of rows) expect(sealed).toContain(keyId)
    expect((await decide(link, 'deny')).status).toBe(200)
    expect(await statusOf(approvalId)).toBe('denied')
  })

  it('says what happened where the approval was decided otherwise, and ends with its person and its time', async () => {
    const denied = await linkOf('DENIED')
    const { json } = await call('GET', '/approval', { approvalId: denied.approvalId })
    const { approvalId, reviewDigest } = json
    await call('POST', '/approval/decide', { approvalId, reviewDigest, decision: 'deny' }, approver.token)
    expect((await shows(denied.link)).text).toContain('It was denied; nothing was changed.')
    expect((await decide(denied.link, 'approve')).status).toBe(409)

    mails.mails.splice(0)
    const stale = await linkOf('STALE')
    await call('PATCH', '/app-env/variables', { appEnvId, set: [{ name: 'MOVED', value: 'x' }] })
    expect((await shows(stale.link)).text).toContain('changed meanwhile')
    expect((await decide(stale.link, 'approve')).status).toBe(409)
    expect(await statusOf(stale.approvalId)).toBe('stale')

    mails.mails.splice(0)
    const late = await linkOf('LATE')
    await clock.advance(25 * 3_600_000)
    expect((await fetch(late.link)).status).toBe(404)
    expect((await decide(late.link, 'approve')).status).toBe(404)

    mails.mails.splice(0)
    const left = await linkOf('LEFT')
    const members = (await call('GET', '/members', { accountId: platform.accountId })).json.members
    const { membershipId } = members.find((one: { email: string }) => one.email === approver.email)
    await call('DELETE', '/member', { accountId: platform.accountId, membershipId })
    expect((await fetch(left.link)).status).toBe(404)
    expect((await decide(left.link, 'approve')).status).toBe(404)
    expect(await statusOf(left.approvalId)).toBe('pending')
  })
})
