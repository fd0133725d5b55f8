import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { NotifyResult } from '../../../src/alerting/notifiers/notifier.ts'
import { timestamp } from '../../../src/clock.ts'
import { testContactPoint } from '../../../src/contract/contact-points.ts'
import { personAccess } from '../../../src/domain/access/agent-limits.ts'
import type { MetricValues } from '../../../src/metrics/source.ts'
import type { Call } from '../../../src/operations/core/call.ts'
import type { Caller } from '../../../src/operations/core/caller.ts'
import { KeptResponses } from '../../../src/operations/core/kept-responses.ts'
import { newTraceparent } from '../../../src/trace.ts'
import { MailServer } from '../../../testkit/alerting/mail-server.ts'
import { deferred } from '../../../testkit/deferred.ts'
import { FaultyDb } from '../../../testkit/fakes/faulty-db.ts'
import type { RawAnswer } from '../../../testkit/platform/raw-request.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'
import { until } from '../../../testkit/until.ts'

const busy: MetricValues = {
  periodMs: 10_000,
  series: async () => [{ t: Date.now(), value: 95, min: 95, max: 95, last: 95 }],
}
let mail: MailServer
let platform: TestPlatform
let db: FaultyDb
let contactPointId = ''
let sent = 0
let notify: () => Promise<NotifyResult>

beforeAll(async () => {
  mail = await MailServer.start()
  platform = await TestPlatform.start({
    reconciles: false,
    metrics: busy,
    smtpUrl: mail.url,
    notifier: () => {
      sent += 1
      return notify()
    },
    wrapDb: (real) => {
      db = new FaultyDb(real)
      return db
    },
  })
  const config = { addresses: ['ops@example.com'] }
  const point = { accountId: platform.accountId, name: 'Ops', type: 'email', config }
  contactPointId = (await send('/contact-point', point, 'point')).json.contactPoint.contactPointId
})
afterAll(async () => {
  await platform.close()
  await mail.close()
})
beforeEach(() => {
  db.disarm()
  mail.mails.length = 0
  sent = 0
  notify = async () => ({ ok: true })
})

const send = (path: string, input: Record<string, unknown>, key: string) =>
  platform.request('POST', path, {
    token: platform.admin.token,
    input,
    headers: { 'idempotency-key': key },
  })
const test = (key: string) => send('/contact-point/test', { contactPointId }, key)
const add = (email: string, key: string) =>
  send('/member', { accountId: platform.accountId, email, name: 'New' }, key)

/** Sends a request, and resolves once its transaction has ended. */
async function begun(request: () => Promise<RawAnswer>): Promise<{ answer: Promise<RawAnswer> }> {
  const before = db.transactions
  const answer = request()
  // One to authenticate, and its own.
  await until(() => db.transactions >= before + 2 && db.busy === 0, 'the end of the transaction')
  return { answer }
}

describe('two simultaneous requests with one key', () => {
  it('send one test notification, and both get its result', async () => {
    const result = deferred<NotifyResult>()
    notify = () => result.promise
    const first = test('twice')
    await until(() => sent === 1, 'the first notification')
    const second = await begun(() => test('twice'))
    const other = await send('/contact-point/test', { contactPointId: 'cp_other' }, 'twice')
    expect([other.status, other.json.error]).toEqual([409, 'Idempotency key reused'])
    result.resolve({ ok: true })
    const { status, text, json } = await first
    expect([status, json.delivered]).toEqual([200, true])
    expect(await second.answer).toMatchObject({ status, text })
    expect(await test('twice')).toMatchObject({ status, text })
    expect(sent).toBe(1)
  })

  it('add a member once, with one mail', async () => {
    const [one, two] = await Promise.all([add('ada@example.com', 'ada'), add('ada@example.com', 'ada')])
    expect([one.status, one.json.tokenEmailed]).toEqual([200, true])
    expect([two.status, two.text]).toEqual([200, one.text])
    expect(mail.mails).toHaveLength(1)
  })
})

describe('a request that ended after its commit, without an answer', () => {
  it('has a provisional answer, also in the next process: the member was added', async () => {
    // The third write keeps the answer, after the member and the token.
    db.arm(3, 'rolled-back')
    expect((await add('bob@example.com', 'bob')).status).toBe(503)
    expect(db.failed).toBe('idempotency')
    await platform.restart()
    const again = await add('bob@example.com', 'bob')
    expect([again.status, again.json.tokenEmailed]).toEqual([200, false])
    expect(again.json.message).toContain('the platform was interrupted')
    expect((await add('bob@example.com', 'bob')).text).toBe(again.text)
    expect(mail.mails).toHaveLength(1)
  })

  it('sends no second mail; another key sends a token that is stored', async () => {
    db.arm(2, 'rolled-back')
    expect((await add('carl@example.com', 'carl')).status).toBe(503)
    expect(db.failed).toBe('tokens')
    const again = await add('carl@example.com', 'carl')
    expect([again.status, again.json.tokenEmailed]).toEqual([200, false])
    expect(mail.mails).toHaveLength(1)
    const other = await add('carl@example.com', 'carl once more')
    expect(other.json).toMatchObject({ membershipId: again.json.membershipId, tokenEmailed: true })
    expect(mail.mails).toHaveLength(2)
  })

  it('does not send a stored test notification a second time', async () => {
    db.arm(1, 'answer-lost')
    expect((await test('lost')).status).toBe(503)
    expect((await test('lost')).json).toEqual({ delivered: false, attempts: [] })
    // The delivery loop, which this platform does not run, sends the stored one.
    expect(sent).toBe(0)
    const stored = await platform.db.read((tx) =>
      tx.selectFrom('notifications').select('status').where('status', '=', 'due').execute(),
    )
    expect(stored).toHaveLength(1)
  })

  it('runs again if it stored nothing', async () => {
    const { appEnvId } = await platform.makeEnvironment()
    const rule = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m', contactPointIds: [] }
    const made = await send('/app-env/alert', { appEnvId, name: 'Busy', ...rule }, 'alert')
    const { alertId } = made.json.alert
    const refresh = () => send('/alert/refresh', { alertId }, 'refresh')
    db.arm(2, 'rolled-back')
    expect((await refresh()).status).toBe(503)
    const again = await refresh()
    expect(again.json).toMatchObject({ state: 'Pending', previousState: 'Normal' })
    expect((await refresh()).text).toBe(again.text)
  })
})

it('another instance refuses the request while it may still run, and then has its provisional answer', async () => {
  const call = (idempotencyKey: string): Call => ({
    operation: testContactPoint,
    input: { contactPointId },
    token: null,
    surface: 'cli',
    traceparent: newTraceparent(),
    idempotencyKey,
    dryRun: false,
  })
  const limits = { readOnly: false, scopes: null, scope: null, expiresAt: null }
  const token = { tokenId: 'tok_1', name: '', agent: null, access: personAccess, ...limits }
  const caller: Caller = { kind: 'user', userId: 'usr_1', principal: 'usr_1', actor: 'person', token }
  const living = new Set(['alder', 'birch'])
  const instance = (node: string) =>
    new KeptResponses({ db, secrets: platform.secrets, node, isAlive: (other) => living.has(other) })
  const [alder, birch] = [instance('alder'), instance('birch')]
  const at = (second: number) => timestamp(Date.parse('2026-03-01T12:00:00.000Z') + second * 1_000)
  const provisional = { status: 200, body: '{"delivered":false}' }
  const complete = { status: 200, body: '{"delivered":true}' }
  const repeated = (on: KeptResponses, key: string, second: number) =>
    db.write(async (tx) => {
      const kept = await on.find(tx, caller, call(key))
      return on.answerOf(tx, kept!, { caller, call: call(key), now: at(second) })
    })
  const during = (key: string, work: () => Promise<void>) =>
    alder.track(async (runId) => {
      const first = { caller, call: call(key), now: at(0) }
      await db.write((tx) => alder.keep(tx, first, { reply: provisional, runId }))
      await work()
      await alder.complete(caller, call(key), { reply: complete, runId })
    })

  await during('shared', async () => {
    expect(await repeated(alder, 'shared', 59)).toHaveProperty('first')
    await expect(repeated(birch, 'shared', 59)).rejects.toThrow('The same request is still running')
  })
  expect(await repeated(birch, 'shared', 1)).toEqual(complete)

  // An answer that was given stays.
  await during('late', async () => {
    expect(await repeated(birch, 'late', 60)).toEqual(provisional)
  })
  expect(await repeated(birch, 'late', 61)).toEqual(provisional)

  // That of an instance that is gone is over at once.
  await during('gone', async () => {
    living.delete('alder')
    expect(await repeated(birch, 'gone', 6)).toEqual(provisional)
  })

  // A new process of the same machine proves that the old one is gone.
  await during('restarted', async () => {
    expect(await repeated(instance('alder'), 'restarted', 1)).toEqual(provisional)
  })
})
