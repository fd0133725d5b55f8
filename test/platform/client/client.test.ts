import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { neverArrived } from '../../../src/client/answer-error.ts'
import { createClient } from '../../../src/client/client.ts'
import { createReconnectingClient } from '../../../src/client/reconnecting-client.ts'
import { scaleAppEnvContainers } from '../../../src/contract/app-env-actions.ts'
import { getAppEnv } from '../../../src/contract/app-envs.ts'
import { AppError } from '../../../src/errors.ts'
import { type FakeBackend, fakeToken, startFakeBackend } from '../../../testkit/fakes/backend.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

let backend: FakeBackend
const servers: Server[] = []

beforeEach(async () => {
  backend = await startFakeBackend()
  backend.state.add({ name: 'prod' })
})
afterEach(async () => {
  await backend.close()
  for (const server of servers.splice(0)) server.close()
})

const clientOf = (url = backend.url, token = fakeToken) => createClient({ url, token, surface: 'mcp' })

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

function failure(promise: Promise<unknown>): Promise<AppError> {
  return promise.then(
    () => expect.fail('it should have been refused'),
    (error) => error,
  )
}

describe('a call', () => {
  it('sends a read in the query, with token and surface', async () => {
    const env = await clientOf().call(getAppEnv, { envName: 'shop-prod', decrypt: false })
    expect(env.cliEnvName).toBe('shop-prod')
    expect(backend.state.calls).toEqual([
      {
        id: 'get-app-env',
        input: { envName: 'shop-prod', decrypt: false },
        token: fakeToken,
        surface: 'mcp',
        idempotencyKey: undefined,
        dryRun: false,
      },
    ])
  })

  it('refuses input that is nested too deeply to be sent', async () => {
    const containers = JSON.parse('['.repeat(200_000) + ']'.repeat(200_000))
    const error = await failure(clientOf().call(scaleAppEnvContainers, { envName: 'shop-prod', containers }))
    expect([error.kind, error.details]).toEqual(['invalid', 'The input is nested too deeply.'])
  })

  it('sends a write as JSON with an idempotency key', async () => {
    const answer = await clientOf().call(scaleAppEnvContainers, { envName: 'shop-prod', containers: 5 })
    expect(answer.containers).toBe(5)
    expect(backend.state.calls[0]!.idempotencyKey).toMatch(/^[\w-]{16,}$/)
  })

  it('takes an address with the path prefix too', async () => {
    await clientOf(`${backend.url}/api/public/v1/`).call(getAppEnv, { envName: 'shop-prod' })
    expect(backend.state.countOf('get-app-env')).toBe(1)
  })

  it('is aborted by its signal', async () => {
    const controller = new AbortController()
    backend.state.held.set('get-app-env', new Promise(() => {}))
    const call = failure(clientOf().call(getAppEnv, { envName: 'shop-prod' }, { signal: controller.signal }))
    while (backend.state.calls.length === 0) await new Promise((resolve) => setImmediate(resolve))
    controller.abort()
    expect((await call).name).toBe('AbortError')
  })
})

describe('an error', () => {
  it.each([
    [400, 'invalid'],
    [401, 'unauthenticated'],
    [403, 'forbidden'],
    [404, 'not-found'],
    [409, 'conflict'],
    [413, 'too-large'],
    [429, 'rate-limited'],
    [503, 'unavailable'],
    [500, 'unavailable'],
  ])('of status %i is %s, with words, rule and time to wait', async (status, kind) => {
    const url = await serve((_req, res) => {
      res.writeHead(status, { 'longshore-rule': 'F8', 'retry-after': '7' })
      res.end(JSON.stringify({ error: 'No', details: 'Do that' }))
    })
    const error = await failure(clientOf(url).call(getAppEnv, { appEnvId: 'x' }))
    expect(error).toMatchObject({ kind, message: 'No', details: 'Do that', rule: 'F8', retryAfterSeconds: 7 })
  })

  it('of a server that is not Longshore says so', async () => {
    const url = await serve((_req, res) => res.end('<html>hello</html>'))
    const error = await failure(clientOf(url).call(getAppEnv, { appEnvId: 'x' }))
    expect(error).toMatchObject({ kind: 'unavailable', message: 'The response is not from Longshore' })
    expect(error.details).toContain('LONGSHORE_URL')
  })

  it('follows no redirect', async () => {
    const url = await serve((_req, res) => res.writeHead(302, { location: backend.url }).end())
    expect((await failure(clientOf(url).call(getAppEnv, { appEnvId: 'x' }))).kind).toBe('unavailable')
    expect(backend.state.calls).toEqual([])
  })

  it('of a platform that is away names the address and the remedy, not the password in it', async () => {
    const client = clientOf('http://me:secret@127.0.0.1:1')
    const error = await failure(client.call(getAppEnv, { appEnvId: 'x' }))
    expect(error).toMatchObject({ kind: 'unavailable', message: 'The platform cannot be reached' })
    expect(error.details).toContain('http://127.0.0.1:1')
    expect(error.details).toContain('longshore serve')
    expect(error.details).not.toContain('secret')
    expect(neverArrived(error)).toBe(true)
  })

  it('over https to a platform that speaks http says which to use', async () => {
    const client = clientOf(backend.url.replace('http:', 'https:'))
    const error = await failure(client.call(getAppEnv, { appEnvId: 'x' }))
    expect(error).toMatchObject({ kind: 'unavailable', message: 'The platform cannot be reached' })
    expect(error.details).toContain('use http:// in LONGSHORE_URL')
  })

  it('of a token that is no token does not repeat it', () => {
    expect(() => clientOf(backend.url, 'lsu_a\r\nX-Evil: 1')).toThrow(AppError)
    expect(() => clientOf(backend.url, 'lsu_a\r\nX-Evil: 1')).not.toThrow(/Evil/)
  })
})

describe('the reconnecting client', () => {
  it('asks for the platform again when it cannot be reached', async () => {
    const asked: boolean[] = []
    const client = createReconnectingClient(async (again) => {
      asked.push(again)
      return clientOf(again ? backend.url : 'http://127.0.0.1:1')
    })
    expect((await client.call(getAppEnv, { envName: 'shop-prod' })).cliEnvName).toBe('shop-prod')
    expect(asked).toEqual([false, true])
  })

  it('repeats a broken write with the same idempotency key', async () => {
    const keys: unknown[] = []
    const url = await serve((req, res) => {
      keys.push(req.headers['idempotency-key'])
      if (keys.length === 1) req.socket.destroy()
      else res.end('{"success":true}')
    })
    const client = createReconnectingClient(async () => clientOf(url))
    await client.call(scaleAppEnvContainers, { envName: 'shop-prod', containers: 2 })
    expect(keys).toHaveLength(2)
    expect(keys[1]).toBe(keys[0])
  })

  it('repeats with the same key while another instance waits for the first one to end', async () => {
    const keys: unknown[] = []
    const url = await serve((req, res) => {
      keys.push(req.headers['idempotency-key'])
      if (keys.length === 1) return req.socket.destroy()
      if (keys.length === 4) return res.end('{"success":true}')
      const headers = { 'content-type': 'application/json', 'retry-after': '5' }
      res.writeHead(409, headers).end('{"error":"The same request is still running"}')
    })
    const clock = new TestClock()
    const client = createReconnectingClient(async () => clientOf(url), clock)
    let isDone = false
    const call = client.call(scaleAppEnvContainers, { envName: 'shop-prod', containers: 2 }).finally(() => {
      isDone = true
    })
    await clock.advanceUntil(() => isDone, 'the answer')
    await call
    expect([keys.length, new Set(keys).size]).toEqual([4, 1])
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(10_000)
  })

  it('does not repeat what was refused', async () => {
    const client = createReconnectingClient(async () => clientOf())
    expect((await failure(client.call(getAppEnv, { envName: 'nowhere' }))).kind).toBe('not-found')
    expect(backend.state.calls).toHaveLength(1)
  })
})
