import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createContactPoint, testContactPoint } from '../../../src/contract/contact-points.ts'
import { Receiver } from '../../../testkit/alerting/receiver.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform, type TestUser } from '../../../testkit/platform/test-platform.ts'

describe('contact points', () => {
  let platform: TestPlatform
  let member: TestUser
  let stranger: TestUser
  beforeAll(async () => {
    platform = await TestPlatform.start({ reconciles: false })
    member = await platform.makeUser()
    stranger = await platform.makeUser({ accountId: await platform.makeAccount('Other'), admin: true })
  })
  afterAll(() => platform.close())

  const call = (method: string, path: string, input: Record<string, unknown>, by = platform.admin) =>
    platform.request(method, path, { token: by.token, input })
  const create = (type: string, config: Record<string, unknown>, name = 'Ops') =>
    call('POST', '/contact-point', { accountId: platform.accountId, name, type, config })
  const shown = async (contactPointId: string) =>
    (await call('GET', '/contact-point', { contactPointId, showSecrets: true })).json.config

  it('2.6 creates each type, deployed to every region, and shows config only to admins on request (A3)', async () => {
    const configs = {
      chat: { webhookUrl: 'https://chat.example.com/T1/secret', channel: '#ops', mentionUsers: ['here'] },
      incident: { integrationKey: 'abcdef0123456789', severity: 'critical' },
      webhook: { url: 'https://ops.example.com/hook', httpMethod: 'PUT', username: 'u', password: 'pw' },
      email: { addresses: ['ops@example.com', "o'neil+x@example.co.uk"] },
    }
    for (const [type, config] of Object.entries(configs)) {
      const created = await create(type, config, `Ops ${type}`)
      expect(created.status, created.text).toBe(200)
      const { contactPoint, message } = created.json
      expect(message).toContain('created')
      expect(Object.keys(contactPoint).sort()).toEqual(
        'accountId contactPointId createdAt monitoringDeployments name revision type updatedAt'.split(' '),
      )
      expect(contactPoint.contactPointId).toMatch(/^cp_/)
      expect(contactPoint.monitoringDeployments).toEqual(
        ['local', 'plain'].map((region) => ({
          region,
          monitoringContactPointUid: expect.stringContaining(contactPoint.contactPointId),
        })),
      )
      const { contactPointId } = contactPoint
      const plain = await call('GET', '/contact-point', { contactPointId }, member)
      expect(plain.json).toEqual(contactPoint)
      expect(await shown(contactPointId)).toEqual(config)
      const refused = await call('GET', '/contact-point', { contactPointId, showSecrets: true }, member)
      expect(refused).toMatchObject({
        status: 403,
        json: { error: 'Admin permission required to show secrets' },
      })
    }
    const listed = await call('GET', '/contact-points', { accountId: platform.accountId }, member)
    expect(listed.json.contactPoints.map((point: { type: string }) => point.type)).toEqual(
      Object.keys(configs),
    )
    expect(listed.text).not.toContain('config')
  })

  it('rejects a channel with characters that cannot be seen', async () => {
    for (const channel of ['#o\nps', '#o\u202eps', '#o\u{e0041}ps', '#o\u200bps']) {
      const { status, json } = await create('chat', { webhookUrl: 'https://chat.example.com/T1/x', channel })
      expect([status, json.details]).toEqual([
        400,
        'config.channel: must be one line of printable characters',
      ])
    }
  })

  it('keeps secrets encrypted in the store and the audit log', async () => {
    await create('webhook', {
      url: 'https://sealed.example.com/path-secret',
      username: 'u',
      password: 'pw-secret',
    })
    const rows = await platform.db.read(async (tx) => [
      ...(await tx.selectFrom('contact_points').select('record').execute()).map((row) => row.record),
      ...(await tx.selectFrom('audit_log').select('after').execute()).map((row) => row.after),
    ])
    expect(rows.join('')).toContain('v1.key_')
    expect(rows.join('')).not.toMatch(/pw-secret|path-secret/)
  })

  it.each([
    ['chat', {}, 'config.webhookUrl is required'],
    ['chat', { webhookUrl: 'https://a.example', url: 'https://b.example' }, 'unknown key config.url'],
    ['chat', { webhookUrl: 'https://a.example', nope: 1 }, 'unknown key config.nope'],
    ['chat', { webhookUrl: 'ftp://a.example' }, 'must be an http or https address'],
    ['chat', { webhookUrl: '***SECRET***' }, 'there is none yet'],
    ['chat', { webhookUrl: 'https://a.example/***SECRET***' }, 'config.webhookUrl: contains ***SECRET***'],
    ['incident', { integrationKey: 'k-***SECRET***' }, 'config.integrationKey: contains ***SECRET***'],
    ['webhook', { url: 'https://a.example', password: 'x***SECRET***' }, 'config.password: contains'],
    ['webhook', { url: 'https://a.example/?key=***SECRET***' }, 'config.url: contains ***SECRET***'],
    ['webhook', { url: 'https://a.example', username: '***SECRET***' }, 'config.username: contains'],
    ['email', { addresses: ['a@b.example', '***SECRET***@b.example'] }, 'config.addresses: contains'],
    ['incident', { integrationKey: 'k', severity: 'bad' }, 'config.severity'],
    ['incident', { integrationKey: 'k\r\nX: y' }, 'config.integrationKey'],
    ['webhook', { url: 'https://u:p@a.example' }, 'must not carry a user name'],
    ['webhook', { url: 'https://a.example', httpMethod: 'GET' }, 'config.httpMethod'],
    ['email', { addresses: [] }, 'config.addresses is required'],
    ['email', { addresses: ['a@b.example\r\nBcc: x@y.example'] }, 'each must be an e-mail address'],
    ['email', { addresses: ['Ops <a@b.example>'] }, 'each must be an e-mail address'],
    ['pigeon', {}, 'type: must be chat, incident, webhook or email'],
  ])('refuses for type %s the config %j', async (type, config, said) => {
    const answer = await create(type, config)
    expect(answer).toMatchObject({ status: 400, json: { error: 'Invalid request' } })
    expect(answer.json.details).toContain(said)
  })

  it('8.contact-point-name takes names of 1 to 50 characters', async () => {
    const config = { addresses: ['a@b.example'] }
    expect((await create('email', config, 'x'.repeat(50))).status).toBe(200)
    expect((await create('email', config, 'x'.repeat(51))).status).toBe(400)
    expect((await create('email', config, '')).status).toBe(400)
  })

  it('keeps omitted and masked values, clears empty ones, and counts revisions', async () => {
    const config = { url: 'https://a.example/x', username: 'u', password: 'pw' }
    const { contactPointId } = (await create('webhook', config)).json.contactPoint
    const mask = '***SECRET***'
    const update = (given: Record<string, unknown>) =>
      call('PATCH', '/contact-point', { contactPointId, ...given })
    expect((await update({ name: 'New' })).json.contactPoint).toMatchObject({ name: 'New', revision: 2 })
    await update({ config: { url: mask, username: 'u2', password: mask } })
    expect(await shown(contactPointId)).toEqual({ ...config, username: 'u2' })
    await update({ config: { httpMethod: 'PUT' } })
    expect(await shown(contactPointId)).toEqual({ ...config, username: 'u2', httpMethod: 'PUT' })
    await update({ config: { username: '', password: '' } })
    expect(await shown(contactPointId)).toEqual({ url: config.url, httpMethod: 'PUT' })
    const stale = await update({ name: 'Late', expectedRevision: 2 })
    expect(stale).toMatchObject({ status: 409, json: { error: 'Revision conflict' } })
  })

  it('changes an address only together with its secret', async () => {
    const config = { url: 'https://a.example/x', username: 'u', password: 'pw' }
    const { contactPointId } = (await create('webhook', config)).json.contactPoint
    const update = (changed: Record<string, unknown>) =>
      call('PATCH', '/contact-point', { contactPointId, config: changed })
    for (const password of [{}, { password: '***SECRET***' }]) {
      const refused = await update({ url: 'https://evil.example/', ...password })
      expect(refused).toMatchObject({ status: 400, json: { error: 'The password is needed again' } })
    }
    expect(await shown(contactPointId)).toEqual(config)
    expect((await update({ url: config.url, password: '***SECRET***' })).status).toBe(200)
    expect((await update({ url: 'https://b.example/', password: 'pw2' })).status).toBe(200)
    expect(await shown(contactPointId)).toEqual({ url: 'https://b.example/', username: 'u', password: 'pw2' })
  })

  it('shows no secret in a dry run', async () => {
    const created = await platform.request('POST', '/contact-point', {
      token: platform.admin.token,
      headers: { 'dry-run': 'true' },
      input: {
        accountId: platform.accountId,
        name: 'Dry',
        type: 'webhook',
        config: { url: 'https://dry.example/secret-path', password: 'pw-secret' },
      },
    })
    expect(created.status).toBe(200)
    expect(created.json.dryRun).toBe(true)
    expect(created.text).not.toMatch(/secret-path|pw-secret|v1\.key_/)
    const listed = await call('GET', '/contact-points', { accountId: platform.accountId })
    expect(listed.text).not.toContain('"Dry"')
  })

  it('A3 allows all writes to admins only, including test-contact-point', async () => {
    const { contactPointId } = (await create('email', { addresses: ['a@b.example'] })).json.contactPoint
    const writes: [string, string, Record<string, unknown>][] = [
      ['POST', '/contact-point', { accountId: platform.accountId, name: 'x', type: 'email', config: {} }],
      ['PATCH', '/contact-point', { contactPointId, name: 'x' }],
      ['DELETE', '/contact-point', { contactPointId }],
      ['POST', '/contact-point/test', { contactPointId }],
    ]
    for (const [method, path, input] of writes) {
      const answer = await call(method, path, input, member)
      expect(answer, path).toMatchObject({ status: 403, json: { error: 'Admin permission required' } })
    }
  })

  it('answers for another account byte for byte as for an unknown id', async () => {
    const { contactPointId } = (await create('email', { addresses: ['a@b.example'] })).json.contactPoint
    const attempts: [string, string, (id: string) => Record<string, unknown>][] = [
      ['GET', '/contact-point', (id) => ({ contactPointId: id, showSecrets: true })],
      ['PATCH', '/contact-point', (id) => ({ contactPointId: id, name: 'x' })],
      ['DELETE', '/contact-point', (id) => ({ contactPointId: id })],
      ['POST', '/contact-point/test', (id) => ({ contactPointId: id })],
    ]
    for (const [method, path, input] of attempts) {
      const foreign = await call(method, path, input(contactPointId), stranger)
      const unknown = await call(method, path, input('cp_nobody'), stranger)
      expect(foreign.status).toBe(404)
      expect(foreign.text).toBe(unknown.text)
    }
  })

  it('X2 refuses to delete one that alerts use, with the count', async () => {
    const { contactPointId } = (await create('email', { addresses: ['a@b.example'] })).json.contactPoint
    const { appEnvId } = await platform.makeEnvironment()
    const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' }
    const alertIds: string[] = []
    for (const name of ['one', 'two']) {
      const input = { appEnvId, name, ...rule, contactPointIds: [contactPointId, contactPointId] }
      alertIds.push((await call('POST', '/app-env/alert', input)).json.alert.alertId)
    }
    const refused = await call('DELETE', '/contact-point', { contactPointId })
    expect(refused.status).toBe(400)
    expect(refused.json).toEqual({
      error: 'Contact point in use',
      details: '2 alert(s) are using this contact point. Delete or update them first.',
    })
    await call('DELETE', '/alert', { alertId: alertIds[0] })
    await call('PATCH', '/alert', { alertId: alertIds[1], contactPointIds: [] })
    const deleted = await call('DELETE', '/contact-point', { contactPointId })
    expect(deleted).toMatchObject({ status: 200, json: { message: expect.stringContaining('deleted') } })
  })
})

describe('test notifications', () => {
  it('have no link to this machine, which the creation warns of', async () => {
    for (const publicUrl of [undefined, 'http://app.localhost:4400', 'https://longshore.example.com']) {
      const receiver = await Receiver.start()
      const platform = await TestPlatform.start({ reconciles: false, ...(publicUrl ? { publicUrl } : {}) })
      try {
        const { accountId, admin } = platform
        const isPublic = publicUrl?.startsWith('https') ?? false
        for (const [type, key] of [
          ['webhook', 'url'],
          ['chat', 'webhookUrl'],
        ] as const) {
          const input = { accountId, name: type, type, config: { [key]: receiver.url() } }
          const made = await admin.client.call(createContactPoint, input)
          expect(/LONGSHORE_PUBLIC_URL/.test(made.message)).toBe(!isPublic)
          await admin.client.call(testContactPoint, { contactPointId: made.contactPoint.contactPointId })
        }
        const [webhook, chat] = receiver.accepted.map(({ body }) => body)
        expect(webhook.url).toBe(isPublic ? `${publicUrl}/console/contact-points` : null)
        expect(JSON.stringify([webhook, chat])).not.toMatch(/127\.0\.0\.1|localhost/)
        expect(chat.text.includes(`${publicUrl}/console`)).toBe(isPublic)
      } finally {
        await platform.close()
        await receiver.close()
      }
    }
  })

  it('are limited to 30 a minute for each account', async () => {
    const clock = new TestClock()
    const platform = await TestPlatform.start({
      reconciles: false,
      clock,
      notifier: async () => ({ ok: true }),
    })
    try {
      const { accountId } = platform
      const stranger = await platform.makeUser({ accountId: await platform.makeAccount('Far'), admin: true })
      const call = async (path: string, input: Record<string, unknown>, token: string) =>
        platform.request('POST', path, { token, input })
      const config = { url: 'https://victim.example.com/' }
      const points: string[] = []
      for (const [of, token] of [
        [accountId, platform.admin.token],
        [(await call('/account', { name: 'x' }, stranger.token)).json.accountId, stranger.token],
      ]) {
        const made = await call(
          '/contact-point',
          { accountId: of, name: 'hook', type: 'webhook', config },
          token as string,
        )
        points.push(made.json.contactPoint.contactPointId)
      }
      const test = (token = platform.admin.token, contactPointId = points[0]) =>
        call('/contact-point/test', { contactPointId }, token)
      for (let count = 0; count < 30; count += 1) expect((await test()).json.delivered).toBe(true)
      const refused = await test()
      expect([refused.status, refused.json.error]).toEqual([429, 'Too many test notifications'])
      expect(refused.headers.get('retry-after')).toBe('60')
      expect((await test(stranger.token, points[1])).status).toBe(200)
      await clock.advance(61_000)
      expect((await test()).status).toBe(200)
    } finally {
      await platform.close()
    }
  })
})
