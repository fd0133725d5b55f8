import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
import { AppError } from '../../../src/errors.ts'
import {
  base,
  environment,
  goodToken,
  type ScriptedServer,
  send,
  startScripted,
} from '../../../testkit/api/scripted-server.ts'

let on: ScriptedServer
beforeAll(async () => {
  on = await startScripted()
})
afterAll(() => on.server.close())
beforeEach(() => {
  on.calls.length = 0
  on.answer.run = () => ({ status: 200, body: '{}' })
})

describe('V1 routes under /api/public/v1', () => {
  it.each(operations.map((row) => [row.id, row] as const))('%s has its method and path', async (_id, row) => {
    const answer = await send(on, row.method, base + row.path)
    expect([200, 400]).toContain(answer.status)
    if (answer.status === 200) expect(on.calls[0]!.operation).toBe(row)
    else expect(answer.json.error).toBe('Invalid request')
  })

  it('sends the response of the operation byte for byte', async () => {
    on.answer.run = () => ({ status: 200, body: '{ "appId" :"app_1"}' })
    const response = await fetch(`${on.url}${base}/app?appId=app_1`, {
      headers: { authorization: goodToken },
    })
    expect(await response.text()).toBe('{ "appId" :"app_1"}')
  })

  it('sends the same headers on every response', async () => {
    const paths = ['/accounts', '/accounts?x=1', '/nowhere', '/%zz', '/openapi.json']
    for (const path of paths) {
      const { headers } = await send(on, 'GET', base + path)
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
  })
})

describe('A1 A5 the token is checked first', () => {
  const bad = [
    ['no token', {}],
    ['a wrong token', { authorization: 'lsu_wrong' }],
    ['another scheme', { authorization: `Basic ${goodToken}` }],
    ['an empty token', { authorization: 'Bearer ' }],
  ] as const
  it.each(bad)('A5 %s is 401 for any input', async (_what, headers) => {
    const requests: [string, string, string?][] = [
      ['GET', '/accounts'],
      ['GET', '/app-env/history?limit=x&y=z'],
      ['POST', '/app', '{"a'],
      ['POST', '/app', 'x'.repeat(2_000_000)],
    ]
    for (const [method, path, body] of requests) {
      const response = await fetch(on.url + base + path, { method, headers, body: body ?? null })
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(await response.json()).toEqual({
        error: 'User not authenticated',
        details: 'Send a valid token.',
      })
    }
    expect(on.calls).toHaveLength(0)
  })

  it.each([goodToken, `Bearer ${goodToken}`, `bearer  ${goodToken} `])(
    'A1 takes the token as %s',
    async (value) => {
      expect((await send(on, 'GET', `${base}/accounts`, undefined, { authorization: value })).status).toBe(
        200,
      )
      expect(on.calls[0]!.token).toBe(goodToken)
    },
  )

  it.each(['token', 'authorization', 'access_token'])(
    'A1 ?%s= is an unknown key, never a token',
    async (key) => {
      const path = `${on.url}${base}/accounts?${key}=${goodToken}`
      expect((await fetch(path)).status).toBe(401)
      const response = await fetch(path, { headers: { authorization: goodToken } })
      expect(response.status).toBe(400)
      expect(await response.json()).toEqual({ error: 'Invalid request', details: `unknown key ${key}` })
    },
  )
})

describe('headers of a call', () => {
  it('passes on Idempotency-Key, Dry-Run and the surface', async () => {
    const headers = { 'idempotency-key': 'k 1', 'dry-run': 'True', 'longshore-surface': 'mcp' }
    await send(on, 'POST', `${base}/app-env/stop`, environment, headers)
    expect(on.calls[0]).toMatchObject({ idempotencyKey: 'k 1', dryRun: true, surface: 'mcp' })
    await send(on, 'POST', `${base}/app-env/stop`, environment, { 'longshore-surface': 'root' })
    expect(on.calls[1]).toMatchObject({ idempotencyKey: null, dryRun: false, surface: 'rest' })
  })

  it('reads ignore both, because they change nothing', async () => {
    await send(on, 'GET', `${base}/accounts`, undefined, { 'idempotency-key': 'k', 'dry-run': 'true' })
    expect(on.calls[0]).toMatchObject({ idempotencyKey: null, dryRun: false })
  })

  it.each([
    ['dry-run', 'yes'],
    ['dry-run', ''],
    ['idempotency-key', ''],
    ['idempotency-key', 'x'.repeat(256)],
    ['idempotency-key', 'caf\u00e9'],
  ])('refuses %s: %s instead of ignoring it', async (name, value) => {
    const answer = await send(on, 'POST', `${base}/app-env/stop`, environment, { [name]: value })
    expect(answer.status).toBe(400)
    expect(on.calls).toHaveLength(0)
  })
})

describe('errors', () => {
  it.each([
    ['invalid', 400],
    ['unauthenticated', 401],
    ['forbidden', 403],
    ['not-found', 404],
    ['conflict', 409],
    ['rate-limited', 429],
    ['unavailable', 503],
  ] as const)('%s is %i with rule and retry headers', async (kind, status) => {
    on.answer.run = () => {
      throw new AppError(kind, 'No', {
        details: 'Do this.',
        rule: 'F8',
        retryAfterSeconds: 1.2,
        cause: 'private',
      })
    }
    const answer = await send(on, 'GET', `${base}/accounts`)
    expect(answer.status).toBe(status)
    expect(answer.json).toEqual({ error: 'No', details: 'Do this.' })
    expect(answer.headers.get('longshore-rule')).toBe('F8')
    expect(answer.headers.get('retry-after')).toBe('2')
  })

  it('a bug is one fixed sentence with the request id; the reason is in the log only', async () => {
    on.answer.run = () => {
      throw new Error(`bang ${goodToken}`, { cause: new Error('deep reason') })
    }
    const answer = await send(on, 'GET', `${base}/accounts`)
    expect(answer.status).toBe(500)
    expect(answer.json.error).toBe('Something went wrong on our side')
    const id = answer.headers.get('x-request-id')!
    expect(answer.json.details).toContain(id)
    const entry = on
      .logged()
      .split('\n')
      .find((line) => line.includes(id))!
    expect(JSON.parse(entry)).toMatchObject({ level: 50, route: `${base}/accounts`, status: 500 })
    expect(entry).toContain('bang')
    expect(entry).toContain('deep reason')
    expect(entry).not.toContain(goodToken)
  })

  it('a thrown non-error is a bug too', async () => {
    on.answer.run = () => {
      throw undefined
    }
    expect((await send(on, 'GET', `${base}/accounts`)).status).toBe(500)
  })

  it('unknown addresses are 404, known ones with another method 405 with Allow', async () => {
    for (const path of ['/nowhere', `${base}/nowhere`, `${base}/app-env/`, base, '/uploads/', '/mcp']) {
      const answer = await send(on, 'POST', path, { some: 'body' })
      expect(answer.status).toBe(404)
      expect(answer.json.error).toBe('Not found')
    }
    for (const method of ['PATCH', 'OPTIONS', 'PROPFIND']) {
      const answer = await send(on, method, `${base}/app-env?x=1`)
      expect(answer.status).toBe(405)
      expect(answer.headers.get('allow')).toBe('DELETE, GET, POST, PUT')
      expect(answer.json.error).toBe('Method not allowed')
    }
    const upload = await send(on, 'GET', '/uploads/secret')
    expect(upload.status).toBe(405)
    expect(upload.headers.get('allow')).toBe('PUT')
  })
})

describe('logging', () => {
  it('is one debug line per request, without query, headers or body', async () => {
    const answer = await send(on, 'PUT', `${base}/app-env`, { ...environment, name: 'very-private' })
    await send(on, 'GET', `${base}/app-env?envName=also-private`)
    await send(on, 'GET', `/uploads/upload-private`)
    await send(on, 'GET', `/path-private`)
    const id = answer.headers.get('x-request-id')!
    const lines = on
      .logged()
      .split('\n')
      .filter((line) => line.includes(id))
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 20,
      method: 'PUT',
      route: `${base}/app-env`,
      status: 200,
    })
    expect(on.logged()).not.toMatch(/private/)
    expect(on.logged()).not.toContain(goodToken)
  })
})
