import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { operations } from '../../../src/contract/index.ts'
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

describe('query input', () => {
  it('converts numbers and booleans to the types of the row', async () => {
    await send(on, 'GET', `${base}/app-env/history?appEnvId=7&limit=20&offset=0`)
    expect(on.calls[0]!.input).toEqual({ appEnvId: '7', limit: 20, offset: 0 })
    await send(on, 'GET', `${base}/app-env?envName=a&decrypt=true`)
    expect(on.calls[1]!.input).toEqual({ envName: 'a', decrypt: true })
    await send(on, 'GET', `${base}/app-env?envName=a&decrypt=false`)
    expect(on.calls[2]!.input).toEqual({ envName: 'a', decrypt: false })
  })

  it.each([
    ['limit=ten', 'limit: must be a number'],
    ['limit=', 'limit: must be a number'],
    ['limit=1e2', 'limit: must be a number'],
    ['limit=1.5', 'limit: must be a whole number'],
    ['limit=0', 'limit: must be at least 1'],
    ['limit=201', 'limit: must be at most 200'],
    ['limit=1&limit=2', 'limit: sent 2 times; send it once'],
    ['fromDate=yesterday', 'fromDate: must be an ISO 8601 time, such as 2030-01-31T18:00:00Z'],
    ['colour=red', 'unknown key colour'],
    ['__proto__=1', 'unknown key __proto__'],
    ['constructor=1', 'unknown key constructor'],
    ['envName=%00', 'Text must not contain NUL characters or unpaired surrogates.'],
  ])('refuses ?%s with 400: %s', async (query, details) => {
    const answer = await send(on, 'GET', `${base}/app-env/history?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.json).toEqual({ error: 'Invalid request', details })
    expect(on.calls).toHaveLength(0)
  })

  it('rejects a boolean that is not true or false', async () => {
    const answer = await send(on, 'GET', `${base}/app-env?envName=a&decrypt=yes`)
    expect(answer.json.details).toBe('decrypt: must be true or false')
  })

  it('rejects a body if the input is in the query', async () => {
    const answer = await send(on, 'DELETE', `${base}/app-env?appEnvId=env_1`, { appEnvId: 'env_2' })
    expect(answer.status).toBe(400)
    expect(answer.json.details).toContain('DELETE takes its input from the query string')
    expect((await send(on, 'DELETE', `${base}/app-env?appEnvId=env_1&expectedRevision=3`)).status).toBe(200)
    expect(on.calls[0]!.input).toEqual({ appEnvId: 'env_1', expectedRevision: 3 })
  })
})

describe('body input', () => {
  it('fills in the defaults of the row', async () => {
    await send(on, 'POST', `${base}/app-env`, { accountId: 'a', appId: 'b', name: ' n ', region: 'r' })
    expect(on.calls[0]!.input).toEqual({ accountId: 'a', appId: 'b', name: 'n', region: 'r', zClouds: 1 })
  })

  it('an empty body is an empty object', async () => {
    const answer = await send(on, 'POST', `${base}/app`)
    expect(answer.json.details).toBe('name is required; accountId is required')
    expect((await send(on, 'POST', `${base}/app`, '')).json.details).toContain('name is required')
  })

  it('drops what a read adds, so a read object can be written back', async () => {
    const read = {
      ...environment,
      name: 'n',
      slug: 'n',
      revision: 4,
      createdAt: 'x',
      hosts: [{}],
      pendingChanges: {},
    }
    expect((await send(on, 'PUT', `${base}/app-env`, read)).status).toBe(200)
    expect(on.calls[0]!.input).toEqual({ ...environment, name: 'n' })
    const variable = { _id: 'v1', name: 'A', value: 'b', type: 'BOTH', isSecret: false }
    expect((await send(on, 'PUT', `${base}/app-env`, { ...environment, envVars: [variable] })).status).toBe(
      200,
    )
  })

  it.each([
    ['[]', 'The body must be a JSON object such as {}.'],
    ['null', 'The body must be a JSON object such as {}.'],
    ['"text"', 'The body must be a JSON object such as {}.'],
    ['{"a":', 'The body is not well-formed JSON. Check quotes, commas and brackets.'],
    ['{"__proto__":{"x":1}}', 'unknown key __proto__'],
    ['{"\\u005f_proto__":{"x":1}}', 'unknown key __proto__'],
    ['{"functionConfig":{"constructor":{"prototype":{}}}}', 'unknown key constructor'],
    ['{"colour":1,"functionConfig":{"x":1}}', 'unknown key functionConfig.x; unknown key colour'],
    ['{"envName":"a\\u0000b"}', 'Text must not contain NUL characters or unpaired surrogates.'],
    ['{"envName":"\\ud800"}', 'Text must not contain NUL characters or unpaired surrogates.'],
  ])('refuses %s with 400', async (body, details) => {
    const answer = await send(on, 'PUT', `${base}/app-env`, body)
    expect(answer.status).toBe(400)
    expect(answer.json.details).toBe(details)
    expect(on.calls).toHaveLength(0)
  })

  it('names nested problems by path, in plain words, at most ten of them', async () => {
    const answer = await send(on, 'PUT', `${base}/app-env`, {
      zClouds: 3,
      containers: 1.5,
      name: '',
      envVars: [{ name: '1x', value: 5 }, {}],
    })
    expect(answer.json.details).toBe(
      [
        'name: must not be empty',
        'zClouds: must be 1, 2, 4 or 8',
        'envVars[0].name: must be letters, digits and _ only, and not begin with a digit',
        'envVars[0].value: must be text',
        'envVars[1].name is required',
        'containers: must be a whole number',
      ].join('; '),
    )
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, 1]))
    const capped = await send(on, 'PUT', `${base}/app-env`, many)
    expect(capped.json.details!.split('; ')).toHaveLength(11)
    expect(capped.json.details).toMatch(/unknown key k9; and more$/)
  })

  it('lists the allowed values, and never repeats a value or a token', async () => {
    const secret = 'sup3r-s3cret'
    const answer = await send(on, 'POST', `${base}/app`, {
      name: 'n',
      accountId: 'a',
      dockerPreset: secret,
      port: secret,
      [goodToken]: 1,
      [`k${'x'.repeat(5000)}`]: 1,
    })
    const text = JSON.stringify(answer.json)
    expect(text).toContain('dockerPreset: must be CUSTOM, FUNCTION')
    expect(text).not.toContain(secret)
    expect(text).not.toContain(goodToken)
    expect(text.length).toBeLessThan(1000)
  })

  it.each([
    ['text/plain', '{}'],
    ['application/x-www-form-urlencoded', 'name=a'],
    ['nonsense', '{}'],
    ['application/json; charset=latin1', '{}'],
    ['application/jsonp', '{}'],
  ])('refuses content type %s with 400', async (type, body) => {
    const answer = await send(on, 'POST', `${base}/app`, body, { 'content-type': type })
    expect(answer.status).toBe(400)
    expect(answer.json.error).toBe('Invalid content type')
  })

  it('refuses compressed and non-UTF-8 bodies with 400', async () => {
    const zipped = await send(on, 'POST', `${base}/app`, '{}', { 'content-encoding': 'gzip' })
    expect(zipped.json.error).toBe('Invalid content encoding')
    const response = await fetch(`${on.url}${base}/app`, {
      method: 'POST',
      headers: { authorization: goodToken, 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0xff, 0x7d]),
    })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ details: 'The body must be UTF-8 text.' })
  })

  it('rejects a query string together with a body', async () => {
    const answer = await send(on, 'POST', `${base}/app-env/stop?appEnvId=env_1`, {})
    expect(answer.status).toBe(400)
    expect(answer.json.details).toMatch(/^unknown key appEnvId in the query string: POST/)
  })

  it('answers 413 for more than 1 MiB, declared or chunked, and takes exactly 1 MiB', async () => {
    const jsonOf = (bytes: number) => `{"k":"${'x'.repeat(bytes - 8)}"}`
    expect((await send(on, 'POST', `${base}/app`, jsonOf(1_048_576))).status).toBe(400)
    const declared = await send(on, 'POST', `${base}/app`, jsonOf(1_048_577))
    expect(declared.status).toBe(413)
    expect(declared.json.error).toBe('Request body too large')
    const chunked = await fetch(`${on.url}${base}/app`, {
      method: 'POST',
      headers: { authorization: goodToken, 'content-type': 'application/json' },
      body: new Blob([jsonOf(3_000_000)]).stream(),
      duplex: 'half',
    } as RequestInit)
    expect(chunked.status).toBe(413)
    expect((await send(on, 'GET', `${base}/accounts`)).status).toBe(200)
  })

  it('handles hostile depth and length', async () => {
    for (const body of [
      `${'['.repeat(500_000)}`,
      `{"a":${'['.repeat(400_000)}${']'.repeat(400_000)},"\\u0061":1}`,
    ]) {
      expect((await send(on, 'PUT', `${base}/app-env`, body)).status).toBe(400)
    }
    const before = process.cpuUsage()
    for (const row of operations.filter((each) => each.method !== 'GET' && each.method !== 'DELETE')) {
      const keys = Object.keys(row.input.shape)
      if (keys.length === 0) continue
      const length = Math.floor(1_000_000 / keys.length)
      for (const unit of ['a', 'a/', '/a', 'a-', 'a_', '..', ' ']) {
        const value = `${unit.repeat(length / unit.length)}!`
        const body = Object.fromEntries(Object.keys(row.input.shape).map((key) => [key, value]))
        expect((await send(on, row.method, base + row.path, body)).status).toBeLessThan(500)
      }
    }
    // 7 bodies of 1 MB a row: a regex that backtracks would take minutes, of its own time and not of a busy machine's.
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1e6).toBeLessThan(60)
  })
})
