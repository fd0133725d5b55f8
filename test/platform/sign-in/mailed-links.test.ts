import { rmSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMailer } from '../../../src/alerting/notifiers/email.ts'
import { mailSignInLinks } from '../../../src/operations/access/mailed-links.ts'
import { rateLimitsOf } from '../../../src/operations/core/rate-limit.ts'
import { MailServer } from '../../../testkit/alerting/mail-server.ts'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { WebClient } from '../../../testkit/sign-in/web-client.ts'
import { untilRead } from '../../../testkit/until.ts'

const minuteMs = 60_000

describe('sign-in by a mailed link', () => {
  const clock = new TestClock()
  const shell = makeConsoleShell()
  let mails: MailServer
  let platform: TestPlatform
  beforeAll(async () => {
    mails = await MailServer.start()
    const options = { reconciles: false, smtpUrl: mails.url, consoleDir: shell }
    platform = await TestPlatform.start({ ...options, clock, rateLimits: rateLimitsOf(null) })
  })
  afterAll(async () => {
    await platform.close()
    await mails.close()
    rmSync(shell, { recursive: true })
  })
  beforeEach(async () => {
    mails.mails.splice(0)
    // Buckets of the client are full again, and earlier mails no longer count.
    await clock.advance(61 * minuteMs)
  })

  const browser = () => new WebClient(platform.apiUrl)
  const ask = (email: string) => browser().post('/console/sign-in-mail', { email })
  const stored = () => platform.db.read((tx) => tx.selectFrom('sign_in_links').selectAll().execute())
  const deliver = () =>
    mailSignInLinks({
      ...{ db: platform.db, clock, publicUrl: () => 'https://longshore.example' },
      mailer: createMailer({ url: mails.url, clock, deadlineMs: 10_000 }),
    })
  const codesTo = (address: string) =>
    mails.mails
      .filter(({ to }) => to.includes(address))
      .map(({ raw }) => /sign-in#mail\.([\w-]{43})/.exec(raw.replaceAll(/=\r?\n/g, ''))?.[1])
  /** Asks as `typed`; resolves to the code mailed to `address`. */
  async function codeFor(address: string, typed = address): Promise<string> {
    const before = (await stored()).length
    expect((await ask(typed)).status).toBe(200)
    await untilRead(stored, (links) => links.length > before, 'the link')
    await deliver()
    return codesTo(address).at(-1)!
  }

  it('sign-in: signs a person in once, with an address of the public URL, and is in the audit log of the account', async () => {
    const person = await platform.makeUser()
    const code = await codeFor(person.email)
    expect(mails.mails[0]!.raw).toContain('https://longshore.example/console/sign-in')
    const client = browser()
    expect(await (await client.post('/console/mailed-link', { mailCode: code })).json()).toMatchObject({
      email: person.email,
    })
    expect((await client.post('/console/session', { mailCode: code })).status).toBe(200)
    expect(await client.email()).toBe(person.email)
    const again = await browser().post('/console/session', { mailCode: code })
    expect(again.status).toBe(401)
    const { json } = await platform.request('GET', '/audit', {
      token: platform.admin.token,
      input: { accountId: platform.accountId, principalId: person.userId },
    })
    expect(json.entries).toMatchObject([{ operation: 'sign-in', objectType: 'session', surface: 'console' }])
    expect(JSON.stringify(json)).not.toContain(code)
  })

  it('sign-in: answers the same bytes for an address that no user has, and mails nothing there', async () => {
    const person = await platform.makeUser()
    const [known, unknown] = [await ask(person.email), await ask('stranger@example.com')]
    expect([unknown.status, await unknown.text()]).toEqual([known.status, await known.text()])
    await untilRead(stored, (links) => links.some(({ mail }) => mail === 'due'), 'the link')
    await deliver()
    expect(mails.mails.map(({ to }) => to)).toEqual([[person.email]])
  })

  it('sign-in: an address written with capitals is the same mailbox, one with a look-alike letter is not', async () => {
    const person = await platform.makeUser()
    expect(await codeFor(person.email, ` ${person.email.toUpperCase()} `)).toHaveLength(43)
    const count = (await stored()).length
    // A Kelvin sign, and a long s, which other foldings make ASCII letters.
    expect((await ask(person.email.replace('s', 'ſ'))).status).toBe(200)
    await ask(person.email.replace('e', 'е'))
    await deliver()
    expect((await stored()).length).toBe(count)
  })

  it('sign-in: a link ends after 15 minutes, and with its user', async () => {
    const person = await platform.makeUser()
    const late = await codeFor(person.email)
    await clock.advance(15 * minuteMs)
    expect((await browser().post('/console/mailed-link', { mailCode: late })).status).toBe(401)
    expect((await browser().post('/console/session', { mailCode: late })).status).toBe(401)
    const removed = await codeFor(person.email)
    const answer = await platform.request('DELETE', '/user', {
      token: platform.admin.token,
      input: { userId: person.userId },
    })
    expect(answer.status, answer.text).toBe(200)
    expect((await browser().post('/console/session', { mailCode: removed })).status).toBe(401)
    expect((await platform.request('GET', '/user', { token: person.token })).status).toBe(401)
  })

  it('sign-in: one person gets at most five mails an hour, and one client asks at most ten times in a burst', async () => {
    const person = await platform.makeUser()
    for (let round = 0; round < 5; round += 1) await codeFor(person.email)
    expect((await ask(person.email)).status).toBe(200)
    await deliver()
    expect(mails.mails).toHaveLength(5)
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => (await ask('x@example.com')).status),
    )
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5)
  })

  it('sign-in: wrong codes count against the client like wrong tokens', async () => {
    const statuses: number[] = []
    for (let round = 0; round < 105; round += 1) {
      const path = round % 2 ? '/console/session' : '/console/mailed-link'
      statuses.push((await browser().post(path, { mailCode: 'x'.repeat(43) })).status)
    }
    expect(statuses[0]).toBe(401)
    expect(statuses.at(-1)).toBe(429)
  })

  it('sign-in: a mail that the server refuses for now is sent again with another code', async () => {
    const person = await platform.makeUser()
    mails.refuse = () => 451
    await ask(person.email)
    await untilRead(stored, (links) => links.some(({ mail }) => mail === 'due'), 'the link')
    await deliver()
    mails.refuse = () => null
    await clock.advance(minuteMs)
    await deliver()
    expect(codesTo(person.email)).toHaveLength(1)
  })

  it('sign-in: a page of another site can neither ask for a link nor use one', async () => {
    const person = await platform.makeUser()
    const code = await codeFor(person.email)
    const foreign = { headers: { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' } }
    for (const [path, body] of [
      ['/console/sign-in-mail', { email: person.email }],
      ['/console/session', { mailCode: code }],
    ] as const)
      expect((await browser().send('POST', path, { body, ...foreign })).status).toBe(403)
  })
})
