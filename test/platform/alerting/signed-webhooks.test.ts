import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createContactPoint,
  getContactPoint,
  rotateContactPointSecret,
  testContactPoint,
} from '../../../src/contract/contact-points.ts'
import { findContactPoint, saveContactPoint } from '../../../src/store/repositories/contact-points.ts'
import { AlertingFixture } from '../../../testkit/alerting/fixture.ts'
import { untilRead } from '../../../testkit/until.ts'

describe('signed webhooks (Standard Webhooks)', () => {
  let fixture: AlertingFixture
  beforeAll(async () => {
    fixture = await AlertingFixture.start()
  })
  afterAll(() => fixture.close())

  const make = async (name: string) => {
    const { accountId } = fixture.platform
    const config = { url: fixture.receiver.url(`/${name}`) }
    const made = await fixture.call(createContactPoint, { accountId, name, type: 'webhook', config })
    return { contactPointId: made.contactPoint.contactPointId, secret: made.signingSecret as string }
  }
  const last = () => {
    const { headers, body } = fixture.receiver.accepted.at(-1)!
    return { headers: headers as Record<string, string>, text: JSON.stringify(body), body }
  }
  /** The library looks at the clock of the machine, which is not the one that is moved by hand. */
  const verifies = (secret: string) => {
    const { headers, text } = last()
    const atMs = Number(headers['webhook-timestamp']) * 1000
    const now = Date.now
    Date.now = () => atMs
    try {
      return new Webhook(secret).verify(text, headers) !== undefined
    } catch {
      return false
    } finally {
      Date.now = now
    }
  }
  const test = (contactPointId: string) => fixture.call(testContactPoint, { contactPointId })

  it('signs what it sends with the secret that the creation shows once', async () => {
    const { contactPointId, secret } = await make('signed')
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    await test(contactPointId)
    const { headers, body } = last()
    expect(headers['webhook-id']).toBe(body.eventId)
    expect(verifies(secret)).toBe(true)
    expect(verifies((await make('other')).secret)).toBe(false)
    const read = await fixture.call(getContactPoint, { contactPointId, showSecrets: true })
    expect(JSON.stringify(read)).not.toContain('whsec_')
  })

  it('signs with both secrets for a while after a rotation, and at once with the new one alone without an overlap', async () => {
    const { contactPointId, secret: first } = await make('rotated')
    const rotate = (overlapSeconds?: number) =>
      fixture.call(rotateContactPointSecret, {
        contactPointId,
        ...(overlapSeconds === undefined ? {} : { overlapSeconds }),
      })
    const { signingSecret: second, previousValidUntil } = await rotate()
    expect(Date.parse(previousValidUntil!) - fixture.clock.wallMs()).toBe(86_400_000)
    await test(contactPointId)
    expect([first, second].map(verifies)).toEqual([true, true])
    await fixture.clock.advance(86_401_000)
    await test(contactPointId)
    expect([first, second].map(verifies)).toEqual([false, true])
    const { signingSecret: third } = await rotate(0)
    await test(contactPointId)
    expect([second, third].map(verifies)).toEqual([false, true])
    const { accountId, admin, request } = {
      ...fixture.platform,
      request: fixture.platform.request.bind(fixture.platform),
    }
    const input = { accountId, objectId: contactPointId }
    const audit = await request('GET', '/audit', { token: admin.token, input })
    expect(audit.status).toBe(200)
    expect(audit.text).toContain('rotate-contact-point-secret')
    for (const secret of [first, second, third]) expect(audit.text).not.toContain(secret)
    expect(audit.text).not.toMatch(/v1\.key_/)
  })

  it('gives a contact point from before the signatures a secret when it is rotated; other types have none', async () => {
    const { contactPointId } = await make('older')
    await fixture.platform.db.write(async (tx) => {
      const { signing: _signing, ...point } = (await findContactPoint(tx, contactPointId))!
      await saveContactPoint(tx, point)
    })
    await test(contactPointId)
    expect(last().headers).not.toHaveProperty('webhook-signature')
    const rotated = await fixture.call(rotateContactPointSecret, { contactPointId })
    expect(rotated.previousValidUntil).toBeNull()
    await test(contactPointId)
    expect(verifies(rotated.signingSecret)).toBe(true)
    const chat = await fixture.point('chat', { webhookUrl: fixture.receiver.url('/chat') })
    await expect(fixture.call(rotateContactPointSecret, { contactPointId: chat })).rejects.toThrow(/signed/)
  })

  it('names the episode, the version and the first finding, the same in every attempt', async () => {
    const { contactPointId, secret } = await make('facts')
    const diagnosis = { cause: 'crash-loop', severity: 'critical', summary: 'It exits.', evidence: [] }
    fixture.platform.runner.readAsEnvironment = async () => ({ servingVersion: 7, findings: [diagnosis, {}] })
    let failures = 1
    fixture.receiver.answer = () => ({ status: failures-- > 0 ? 503 : 200 })
    const { appEnvId, alertId } = await fixture.makeAlert([contactPointId])
    await fixture.cycles(appEnvId, 95, 8)
    await untilRead(
      async () => {
        await fixture.clock.advance(1_000)
        return fixture.eventsOf(alertId).length
      },
      (count) => count === 1,
      'the notification',
    )
    const sent = fixture.receiver.sent.filter(({ body }) => body.alertId === alertId)
    expect(sent).toHaveLength(2)
    expect(sent[0]!.body).toEqual(sent[1]!.body)
    expect(sent[0]!.headers['webhook-id']).toBe(sent[1]!.headers['webhook-id'])
    expect(verifies(secret)).toBe(true)
    expect(last().body).toMatchObject({
      episodeId: `${alertId}-1`,
      servingVersion: 7,
      remediationRunId: null,
      diagnosis,
    })
  })
})
