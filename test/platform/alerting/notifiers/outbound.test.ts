import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { DialOptions } from '../../../../src/alerting/notifiers/dial.ts'
import { answerResult, createOutbound } from '../../../../src/alerting/notifiers/outbound.ts'
import { systemClock } from '../../../../src/clock.ts'
import { Receiver } from '../../../../testkit/alerting/receiver.ts'

describe('the one way out', () => {
  let receiver: Receiver
  beforeEach(async () => {
    receiver = await Receiver.start()
  })
  afterEach(() => receiver.close())

  const post = (url: string, options: Partial<DialOptions> = {}) =>
    createOutbound({ clock: systemClock, allowPrivate: true, deadlineMs: 30_000, ...options })({
      url,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"hello":"there"}',
    })

  it.each([
    'http://127.0.0.1',
    'http://127.1',
    'http://2130706433',
    'http://0x7f000001',
    'http://017700000001',
    'http://localhost',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[64:ff9b::7f00:1]',
    'http://169.254.169.254',
    'http://0.0.0.0',
    'http://10.0.0.1',
  ])('refuses %s unless private addresses are allowed', async (base) => {
    const result = await post(`${base}:${receiver.port}/secret-path`, { allowPrivate: false })
    expect(result).toMatchObject({ ok: false, retry: false })
    expect(JSON.stringify(result)).toContain('LONGSHORE_ALLOW_PRIVATE_WEBHOOKS')
    expect(JSON.stringify(result)).not.toContain('secret-path')
    expect(receiver.sent).toEqual([])
  })

  it('refuses a name with one private address among public ones, and dials only what it checked', async () => {
    const asked: string[] = []
    const resolve = async (hostname: string) => {
      asked.push(hostname)
      return ['93.184.216.34', '127.0.0.1']
    }
    const url = `http://ops.example.com:${receiver.port}/x`
    expect(await post(url, { allowPrivate: false, resolve })).toMatchObject({ ok: false, retry: false })
    expect(receiver.sent).toEqual([])
    let turn = 0
    const rebinding = async () => (turn++ === 0 ? ['127.0.0.1'] : ['192.0.2.1'])
    expect(await post(url, { resolve: rebinding })).toEqual({ ok: true })
    expect(turn).toBe(1)
    expect(receiver.accepted[0]?.headers.host).toBe(`ops.example.com:${receiver.port}`)
    expect(asked).toEqual(['ops.example.com'])
  })

  it('does not follow redirects', async () => {
    receiver.answer = () => ({ status: 302, headers: { location: receiver.url('/elsewhere') } })
    const result = await post(receiver.url('/first'))
    expect(result).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('redirect') })
    expect(receiver.sent.map(({ path }) => path)).toEqual(['/first'])
  })

  it.each([
    [200, true, false],
    [202, true, false],
    [204, true, false],
    [301, false, false],
    [307, false, false],
    [400, false, false],
    [401, false, false],
    [403, false, false],
    [404, false, false],
    [408, false, true],
    [410, false, false],
    [422, false, false],
    [429, false, true],
    [500, false, true],
    [502, false, true],
    [503, false, true],
    [504, false, true],
    [599, false, true],
  ])('takes the answer %d as ok %s, retry %s', async (status, ok, retry) => {
    receiver.answer = () => ({ status, ...(status === 204 ? {} : { body: 'echo of a secret' }) })
    const result = await post(receiver.url('/secret-path'))
    expect(result.ok).toBe(ok)
    if (!result.ok) expect(result.retry).toBe(retry)
    expect(JSON.stringify(result)).not.toMatch(/secret|127\.0\.0\.1|http:/)
  })

  it('waits as long as Retry-After asks, up to an hour', () => {
    const now = Date.parse('2026-03-01T12:00:00Z')
    const asked = (header: string | undefined, status = 429) => {
      const result = answerResult(status, header, now)
      return result.ok ? null : result.retryAfterMs
    }
    expect(asked('7')).toBe(7_000)
    expect(asked('99999')).toBe(3_600_000)
    expect(asked('Sun, 01 Mar 2026 12:00:30 GMT', 503)).toBe(30_000)
    for (const nothing of [undefined, '', 'soon', '-5', 'Sun, 01 Mar 2026 11:00:00 GMT']) {
      expect(asked(nothing)).toBeUndefined()
    }
    expect(asked('7', 404)).toBeUndefined()
  })

  it('has one deadline for name, connection, head and body', async () => {
    const mute = createServer(() => {})
    const dripping = createServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n')
      const timer = setInterval(() => socket.write('x: y\r\n'), 20)
      socket.on('error', () => {}).on('close', () => clearInterval(timer))
    })
    for (const server of [mute, dripping]) {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    }
    const { port } = mute.address() as { port: number }
    const { port: slow } = dripping.address() as { port: number }
    const never = new Promise<string[]>(() => {})
    const results = await Promise.all([
      post(`http://127.0.0.1:${port}/`, { deadlineMs: 400 }),
      post(`http://127.0.0.1:${slow}/`, { deadlineMs: 400 }),
      post('http://slow.example.com/', { deadlineMs: 400, resolve: () => never }),
    ])
    for (const result of results) {
      expect(result).toEqual({ ok: false, retry: true, reason: 'no answer within 0.4 s' })
    }
    mute.close()
    dripping.close()
  })

  it('says what went wrong on the way without naming the address', async () => {
    receiver.answer = () => 'reset'
    expect(await post(receiver.url())).toMatchObject({
      retry: true,
      reason: 'the receiver broke the connection',
    })
    expect(await post('http://127.0.0.1:1/')).toMatchObject({
      retry: true,
      reason: 'the receiver refused the connection',
    })
    expect(await post('http://no-such-name.invalid/')).toMatchObject({
      retry: true,
      reason: 'the name of the receiver does not resolve',
    })
    expect(await post(receiver.url().replace('http', 'https'))).toMatchObject({ ok: false, retry: true })
  })

  it('takes an endless answer no further than its head', async () => {
    receiver.answer = () => ({ status: 200, body: 'x'.repeat(5_000_000) })
    expect(await post(receiver.url())).toEqual({ ok: true })
  })
})
