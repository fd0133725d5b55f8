import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccount } from '../../../src/contract/accounts.ts'
import { createContactPoint } from '../../../src/contract/contact-points.ts'
import { AlertingFixture } from '../../../testkit/alerting/fixture.ts'
import { runShell } from '../../../testkit/cli/shell-fixture.ts'

describe('longshore contact-points', () => {
  let fixture: AlertingFixture
  let good = ''
  let bad = ''
  beforeAll(async () => {
    fixture = await AlertingFixture.start()
    const { receiver } = fixture
    receiver.answer = ({ path }) => ({ status: path === '/bad' ? 410 : 200 })
    good = await fixture.point('webhook', { url: receiver.url('/good') })
    bad = await fixture.point('webhook', { url: receiver.url('/bad') })
  })
  afterAll(() => fixture.close())

  const run = (...argv: string[]) => runShell(fixture.platform, argv)
  const points = (...argv: string[]) => run('contact-points', ...argv)

  it('tests a contact point: exit code 1 if the notification did not arrive', async () => {
    expect((await points('list')).out).toMatch(new RegExp(`^${good} +Ops webhook +webhook`, 'm'))
    expect(await points('test', good)).toMatchObject({ code: 0, out: expect.stringContaining('arrived') })
    const failed = await points('test', bad)
    expect(failed).toMatchObject({ code: 1, out: expect.stringContaining('the receiver answered 410') })
    expect(JSON.parse((await points('test', bad, '--json')).out).delivered).toBe(false)
    const received = fixture.receiver.accepted.length
    expect((await points('test', good, '--dry-run')).out).toContain('Nothing was changed.')
    expect(fixture.receiver.accepted).toHaveLength(received)
  })

  it('adds a contact point from a file, and deletes it', async () => {
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-point-'))
    const file = path.join(dir, 'config.json')
    try {
      writeFileSync(file, JSON.stringify({ url: fixture.receiver.url('/added') }))
      const options = ['--type', 'webhook', '--name', 'Added', '--config', `@${file}`]
      const added = await points('create', ...options)
      expect(added.code, added.err).toBe(0)
      const contactPointId = /cp_\w+/.exec(added.out)![0]
      expect(added.out).toContain(`longshore contact-points test ${contactPointId}`)
      expect((await points('test', contactPointId)).code).toBe(0)
      expect(fixture.receiver.accepted.at(-1)).toMatchObject({ path: '/added', body: { event: 'test' } })
      expect((await points('delete', contactPointId)).err).toContain('add --yes to confirm')
      expect((await points('delete', contactPointId, '--yes')).code).toBe(0)
      expect((await points('list')).out).not.toContain(contactPointId)
      writeFileSync(file, 'not json: secret')
      const wrong = await points('create', ...options)
      expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('is not valid JSON') })
      expect(wrong.err).not.toContain('secret')
      await fixture.makeAlert([good])
      const used = await points('delete', good, '--yes')
      expect(used.code).toBe(1)
      expect(used.err).toContain('Contact point in use (X2)')
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it.each([
    [['--type', 'pigeon', '--name', 'x', '--config', '{}'], '--type must be one of chat,'],
    [['--type', 'chat', '--name', 'x', '--config', '@/nowhere'], 'cannot be read (ENOENT)'],
  ])('sends no request for a wrong contact point: %j', async (argv, words) => {
    const { code, err, out } = await points('create', ...argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(words)
  })

  it('lists what every account has, unless one is named', async () => {
    const { client } = fixture.platform.admin
    const { accountId } = await client.call(createAccount, { name: 'Second' })
    const config = { url: fixture.receiver.url('/second') }
    const point = { accountId, name: 'second', type: 'webhook', config }
    const { contactPointId } = (await client.call(createContactPoint, point)).contactPoint
    const all = (await points('list')).out
    expect([all.includes(good), all.includes(contactPointId)]).toEqual([true, true])
    const second = (await points('list', '--account', 'Second')).out
    expect([second.includes(good), second.includes(contactPointId)]).toEqual([false, true])
    const { appEnvId } = await fixture.platform.makeEnvironment({ accountId })
    const made = await run('alerts', 'create', appEnvId, '--metric', 'cpu_percent')
    const alertId = /alr_\w+/.exec(made.out)![0]
    expect((await run('alerts', 'list')).out).toContain(alertId)
    const one = await run('alerts', 'list', '--account', fixture.platform.accountId)
    expect([one.code, one.out.includes(alertId)]).toEqual([0, false])
    expect(await run('alerts', 'list', '--limit', '1')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--account'),
    })
  })
})
