import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createNotifier } from '../../../../src/alerting/notifiers/deliver.ts'
import { systemClock } from '../../../../src/clock.ts'
import type { Receiver as Target } from '../../../../src/domain/alerts/contact-point.ts'
import type { Notification, NotificationEnvelope } from '../../../../src/domain/alerts/notification.ts'
import { createLog, Secret } from '../../../../src/log.ts'
import { MailServer } from '../../../../testkit/alerting/mail-server.ts'
import { Receiver } from '../../../../testkit/alerting/receiver.ts'

const notification: Notification = {
  version: '1',
  event: 'firing',
  eventId: 'evt_abc',
  alertId: 'alr_1',
  name: 'Slow <checkout> & "pay"',
  description: 'Look at <!channel> & <https://evil.example|here>',
  accountId: 'acc_1',
  appEnvId: 'env_1',
  appEnvName: 'shop-prod',
  region: 'local',
  metric: 'ingress_p95_latency',
  unit: 's',
  operator: 'gt',
  threshold: 2,
  value: 3.5,
  aggregation: 'mean',
  duration: '5m',
  state: 'Firing',
  previousState: 'Pending',
  startedAt: '2026-03-01T12:00:00.000Z',
  url: 'https://longshore.test/console/environments/shop-prod/alerts/alr_1',
  episodeId: 'alr_1-3',
  flapping: false,
  endedBy: null,
  servingVersion: 4,
  diagnosis: null,
  remediationRunId: null,
}
const envelopeOf = (given: Partial<Notification> = {}): NotificationEnvelope => ({
  notification: { ...notification, ...given },
  dedupKey: 'alr_1-3',
})

describe('notifiers', () => {
  let receiver: Receiver
  let mail: MailServer
  beforeAll(async () => {
    receiver = await Receiver.start()
    mail = await MailServer.start()
  })
  beforeEach(() => {
    receiver.accepted.length = 0
    receiver.answer = () => ({ status: 200 })
    mail.mails.length = 0
    mail.refuse = () => null
    mail.refuseData = () => null
  })
  afterAll(async () => {
    await receiver.close()
    await mail.close()
  })

  const notifier = (smtpUrl = mail.url, deadlineMs = 30_000) =>
    createNotifier({
      clock: systemClock,
      log: createLog('test', 'silent'),
      allowPrivate: true,
      incidentUrl: receiver.url('/v2/enqueue'),
      smtpUrl: new Secret(smtpUrl),
      deadlineMs,
    })
  const targets = (): Target[] => [
    { type: 'chat', config: { webhookUrl: receiver.url('/hooks/chat-secret') } },
    { type: 'incident', config: { integrationKey: 'incident-secret' } },
    {
      type: 'webhook',
      config: { url: receiver.url('/hook-secret'), username: 'ops', password: 'password-secret' },
      signingSecrets: [],
    },
    { type: 'email', config: { addresses: ['secret@example.com'] } },
  ]

  it('webhook: the plain notification with its event id and Basic credentials, by POST or PUT', async () => {
    const config = { url: receiver.url('/hook'), username: 'ops', password: 'p:w' }
    expect(await notifier()({ type: 'webhook', config, signingSecrets: [] }, envelopeOf())).toEqual({
      ok: true,
    })
    await notifier()(
      { type: 'webhook', config: { url: receiver.url('/put'), httpMethod: 'PUT' }, signingSecrets: [] },
      envelopeOf(),
    )
    const [first, second] = receiver.accepted
    expect(first).toMatchObject({ method: 'POST', path: '/hook', body: notification })
    expect(first?.headers['longshore-event-id']).toBe('evt_abc')
    const credentials = String(first?.headers.authorization).replace('Basic ', '')
    expect(Buffer.from(credentials, 'base64').toString()).toBe('ops:p:w')
    // Exactly the documented fields, and no internal ones (docs/interface.md#notifications).
    const keys =
      'version event eventId alertId name description accountId appEnvId appEnvName region metric unit operator threshold value aggregation duration state previousState startedAt url episodeId flapping endedBy servingVersion diagnosis remediationRunId'
    expect(Object.keys(first?.body)).toEqual(keys.split(' '))
    expect(second).toMatchObject({ method: 'PUT', path: '/put', body: notification })
    expect(second?.headers.authorization).toBeUndefined()
  })

  it('chat: a Slack-compatible body; what tenants wrote cannot link or mention', async () => {
    const webhookUrl = receiver.url('/services/T/B/x')
    const mentionUsers = ['U012AB3CD', 'U12', 'here', '@dev <ops>']
    await notifier()({ type: 'chat', config: { webhookUrl, channel: '#ops', mentionUsers } }, envelopeOf())
    await notifier()(
      { type: 'chat', config: { webhookUrl, mentionUsers } },
      envelopeOf({ event: 'resolved', endedBy: 'recovered' }),
    )
    const closed = { event: 'resolved', endedBy: 'alert-deleted', value: null, url: null } as const
    await notifier()({ type: 'chat', config: { webhookUrl } }, envelopeOf(closed))
    const [firing, resolved, ended] = receiver.accepted.map(({ body }) => body)
    expect(firing.channel).toBe('#ops')
    expect(firing.text.split('\n')).toEqual([
      'FIRING: Slow &lt;checkout&gt; &amp; "pay" (shop-prod) <@U012AB3CD> <@U12> <!here> @dev &lt;ops&gt;',
      'ingress_p95_latency (mean) above 2 s for 5m. The value is 3.5 s.',
      'Look at &lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;',
      'Since 2026-03-01T12:00:00.000Z · local',
      'https://longshore.test/console/environments/shop-prod/alerts/alr_1',
    ])
    const words = JSON.stringify(firing.blocks)
    expect(words).toContain('Look at &lt;!channel&gt; &amp; &lt;https://evil.example|here&gt;')
    expect(words).toContain('above 2 s for 5m. The value is 3.5 s.')
    expect(resolved.text).toMatch(/^RESOLVED: Slow &lt;checkout&gt; &amp; "pay" \(shop-prod\)\n/)
    expect(ended.text).toMatch(/^CLOSED, not recovered: .*\n.*because the alert was deleted/)
    expect(JSON.stringify(ended)).not.toContain('null')
    expect(resolved).not.toHaveProperty('channel')
  })

  it('incident: trigger and resolve of one episode share the key', async () => {
    const target: Target = { type: 'incident', config: { integrationKey: 'key-1', severity: 'critical' } }
    for (const event of ['firing', 'resolved', 'test'] as const)
      await notifier()(target, envelopeOf({ event }))
    const events = receiver.accepted.map(({ body }) => body)
    expect(events.map((event) => event.event_action)).toEqual(['trigger', 'resolve', 'trigger'])
    for (const event of events) expect(event).toMatchObject({ routing_key: 'key-1', dedup_key: 'alr_1-3' })
    expect(Object.keys(events[0])).toEqual(
      'routing_key event_action dedup_key client client_url payload'.split(' '),
    )
    expect(events[0].payload).toMatchObject({
      source: 'shop-prod',
      severity: 'critical',
      timestamp: notification.startedAt,
      custom_details: { eventId: 'evt_abc', value: 3.5 },
    })
    expect(events[2].payload).toMatchObject({ severity: 'info', summary: expect.stringMatching(/^TEST: /) })
    const plain: Target = { type: 'incident', config: { integrationKey: 'key-1' } }
    await notifier()(plain, envelopeOf())
    expect(receiver.accepted.at(-1)?.body.payload.severity).toBe('error')
  })

  it('email: one mail to all, text and HTML, its id made from the event', async () => {
    const addresses = ['a@example.com', "o'neil@example.co.uk"]
    expect(await notifier()({ type: 'email', config: { addresses } }, envelopeOf())).toEqual({ ok: true })
    const [got] = mail.mails
    expect(got?.to).toEqual(addresses)
    expect(got?.raw).toMatch(/^From: Longshore <alerts@longshore\.example>/m)
    expect(got?.raw).toMatch(/^Message-ID: <evt_abc@longshore\.example>/im)
    expect(got?.raw).toContain('text/plain')
    const text = (got?.raw ?? '').replaceAll(/=\r\n/g, '').replaceAll('=3D', '=')
    expect(text).toContain('Slow &lt;checkout&gt; &amp; &quot;pay&quot;')
    expect(text).toContain('Slow <checkout> & "pay"')
  })

  it('email: no name begins another header or recipient', async () => {
    const name = 'x\r\nBcc: evil@example.com\r\n\r\nbody'
    const target: Target = { type: 'email', config: { addresses: ['a@example.com'] } }
    expect(await notifier()(target, envelopeOf({ name }))).toEqual({ ok: true })
    const [got] = mail.mails
    const head = (got?.raw ?? '').split('\r\n\r\n')[0]
    expect(head).toContain('Subject: FIRING: x Bcc: evil@example.com body')
    expect(head).not.toMatch(/^Bcc:/m)
    expect(got?.to).toEqual(['a@example.com'])
  })

  it.each([
    [421, true],
    [451, true],
    [452, true],
    [550, false],
    [552, false],
    [554, false],
  ])('email: the SMTP answer %d is tried again: %s', async (status, retry) => {
    mail.refuseData = () => status
    const target: Target = { type: 'email', config: { addresses: ['a@example.com'] } }
    const result = await notifier()(target, envelopeOf())
    expect(result).toEqual({ ok: false, retry, reason: `the mail server answered ${status}` })
  })

  it('email: says when some addresses were refused, and does not send to the others again', async () => {
    mail.refuse = (address) => (address === 'gone@example.com' ? 550 : null)
    const target: Target = { type: 'email', config: { addresses: ['a@example.com', 'gone@example.com'] } }
    const result = await notifier()(target, envelopeOf())
    expect(result).toEqual({ ok: false, retry: false, reason: 'the mail server refused 1 of 2 addresses' })
    expect(mail.mails).toHaveLength(1)
  })

  it('email: a server that is away or not configured is tried again', async () => {
    const target: Target = { type: 'email', config: { addresses: ['a@example.com'] } }
    const free = await MailServer.start()
    const { url } = free
    await free.close()
    expect(await notifier(url)(target, envelopeOf())).toMatchObject({ ok: false, retry: true })
    const unset = createNotifier({
      clock: systemClock,
      log: createLog('test', 'silent'),
      allowPrivate: true,
      incidentUrl: receiver.url(),
      smtpUrl: undefined,
    })
    expect(await unset(target, envelopeOf())).toMatchObject({
      retry: true,
      reason: expect.stringContaining('LONGSHORE_SMTP_URL'),
    })
  })

  it('no reason contains a secret, an address or a response of the receiver', async () => {
    const said = { body: 'secret said by the receiver' }
    const answers = [{ status: 500, ...said }, { status: 404, ...said }, 'reset', 'hang'] as const
    for (const answer of answers) {
      receiver.answer = () => answer
      mail.refuseData = () => 554
      for (const target of targets()) {
        const deadlineMs = answer === 'hang' ? 200 : 30_000
        const result = await notifier(mail.url, deadlineMs)(target, envelopeOf())
        expect(result.ok, target.type).toBe(false)
        expect(JSON.stringify(result), target.type).not.toMatch(/secret|127\.0\.0\.1|example\.com/)
      }
    }
  })
})
