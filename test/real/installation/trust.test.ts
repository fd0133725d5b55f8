import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Agent, request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { createContactPoint, testContactPoint } from '../../../src/contract/contact-points.ts'
import { addMember } from '../../../src/contract/members.ts'
import { createUserToken, listUserTokens, revokeUserToken } from '../../../src/contract/users.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/story.ts'
import { Canaries, filesBelow, type Output } from '../../../testkit/secrets/canaries.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'trace' })
beforeAll(() => installation.start())
afterAll(() => installation.dispose())

const outward = Object.values(os.networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address

const portOf = (address: string) => Number(new URL(address).port)

describe('the door of a real serve', () => {
  /** A request with headers that fetch does not allow. */
  const knock = (path: string, headers: Record<string, string>) =>
    new Promise<number>((resolve, reject) => {
      const port = portOf(installation.ready.api)
      const asked = http.request({ host: '127.0.0.1', port, path, headers }, (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      })
      asked.once('error', reject).end()
    })

  it.each(['/api/public/v1/user', '/mcp', '/metrics', '/healthz', '/docs'])(
    '%s is closed to web pages of others and to names that are not ours',
    async (path) => {
      const authorization = installation.token
      for (const host of [
        'evil.example',
        'evil.example:4400',
        'app.localhost',
        '127.0.0.1.evil.example',
        '10.0.0.1',
      ]) {
        expect(await knock(path, { host, authorization }), host).toBe(403)
      }
      for (const origin of ['https://evil.example', 'null', 'http://x.fn.localhost:4480', 'file://']) {
        expect(await knock(path, { authorization, origin }), origin).toBe(403)
      }
      expect(
        await knock(path, { authorization, host: `localhost:${portOf(installation.ready.api)}` }),
      ).not.toBe(403)
    },
  )

  it.skipIf(outward === undefined)(
    'listens on loopback only, and warns when it is configured otherwise',
    async () => {
      const reaches = (port: number) =>
        new Promise<boolean>((resolve) => {
          const socket = net.connect({ host: outward!, port }, () => resolve(true))
          socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
        })
      expect(await reaches(portOf(installation.ready.api))).toBe(false)
      expect(await reaches(portOf(installation.ready.gateway))).toBe(false)
      expect(installation.stderr).not.toContain('WARNING')
      const open = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_HOST: '0.0.0.0' })
      try {
        await open.start()
        expect(await reaches(portOf(open.ready.api))).toBe(true)
        expect(open.stderr).toMatch(
          /WARNING +LONGSHORE_HOST=0\.0\.0\.0: reachable from other machines, without TLS/,
        )
      } finally {
        await open.dispose()
      }
    },
    180_000,
  )
})

it('only the owner can read the data directory, even below a folder that is open to all users', async () => {
  const open = new Installation({ LONGSHORE_ENGINE: 'process' })
  try {
    chmodSync(open.home, 0o755)
    await open.start()
    await makeFunction(open, 'private')
    const entries = readdirSync(open.home)
    expect(entries).toEqual(
      expect.arrayContaining(['longshore.db', 'longshore.db-wal', 'logs', 'run', 'engine']),
    )
    const others = entries.filter((name) => (statSync(path.join(open.home, name)).mode & 0o077) !== 0)
    expect(others).toEqual([])
  } finally {
    await open.dispose()
  }
})

describe('no secret lies about', () => {
  const secrets = new Canaries()
  const plant = (name: string) => secrets.plant(name, (core) => core)

  it('in the data directory, the log, metrics, on command lines, after a build, a run and a kill', async () => {
    const client = installation.client()
    const { accountId } = installation.ready
    const { appEnvId, host } = await makeFunction(installation, 'canary', { minScale: 1 })
    const set = ['DEPLOY', 'BUILD', 'BOTH'].map((type) => ({ name: `IN_${type}`, value: plant(type), type }))
    await client.call(updateAppEnvVariables, { appEnvId, set })
    const config = { url: `http://127.0.0.1:9/${plant('address')}`, password: plant('password') }
    await client.call(createContactPoint, { accountId, name: 'hook', type: 'webhook', config })
    const source = sampleSource('node:20-alpine')
    const steps =
      'ARG IN_BUILD\nARG IN_BOTH\nRUN echo "$IN_BUILD"; test -n "$IN_BUILD" && test -n "$IN_BOTH"\n'
    source.Dockerfile = source.Dockerfile!.replace('CMD', `${steps}CMD`)
    source['server.js'] = source['server.js']!.replace('process.env.COLOR', 'process.env.IN_DEPLOY.length')
    await deploy(installation, appEnvId, source)
    const { currentDeployment } = await untilDeployed(installation, appEnvId)
    expect(currentDeployment).toMatchObject({ status: 'DEPLOYED' })
    expect(JSON.parse((await installation.request(host)).body).color).toBe(24)
    const metrics = await (await fetch(new URL('/metrics', installation.ready.api))).text()
    const lines = commandLines()
    await installation.end('SIGKILL')
    const found = [
      ...filesBelow(installation.home),
      ...lines,
      { where: 'metrics', text: metrics },
      { where: 'log', text: installation.stderr },
    ]
    expect(secrets.foundIn(found)).toEqual([])
    expect(lines.some(({ text }) => text.includes('server.js'))).toBe(true)
    expect(installation.stderr).toContain('request')
    secrets.know('token of the admin', installation.token)
    const keys = /^(admin-token|master-key)$/
    expect(secrets.foundIn([...filesBelow(installation.home, (file) => keys.test(file)), ...lines])).toEqual(
      [],
    )
    await installation.start()
  })

  /** What anybody on the machine sees of our processes. */
  function commandLines(): Output[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => {
        try {
          return [{ where: `command line of ${pid}`, text: readFileSync(`/proc/${pid}/cmdline`, 'utf8') }]
        } catch {
          return []
        }
      })
  }
})

describe('a webhook as a way to the machine', () => {
  it('reaches neither the platform nor other containers, in any spelling of the address', async () => {
    const client = installation.client()
    const { accountId } = installation.ready
    const heard: string[] = []
    const neighbour = http.createServer((request, response) => {
      heard.push(request.url ?? '')
      response.end('inside')
    })
    await new Promise<void>((resolve) => neighbour.listen(0, '0.0.0.0', resolve))
    const { port } = neighbour.address() as net.AddressInfo
    const hosts = [
      '127.0.0.1',
      'localhost',
      'localhost.',
      '127.1',
      '0x7f.1',
      '2130706433',
      '0177.0.0.1',
      '0.0.0.0',
      '0',
      '[::1]',
      '[::]',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '[64:ff9b::7f00:1]',
      '169.254.169.254',
      '[fe80::1]',
      '[fd00::1]',
      '10.0.0.1',
      ...(outward === undefined ? [] : [outward]),
    ]
    try {
      for (const host of hosts) {
        const config = { url: `http://${host}:${port}/${encodeURIComponent(host)}` }
        const { contactPoint } = await client.call(createContactPoint, {
          accountId,
          name: 'x',
          type: 'webhook',
          config,
        })
        const { contactPointId } = contactPoint
        const said = await client.call(testContactPoint, { contactPointId })
        expect(said.delivered, host).toBe(false)
        expect(said.attempts[0]?.reason, host).toMatch(/is private|does not resolve/)
      }
      expect(heard).toEqual([])
    } finally {
      neighbour.close()
    }
  })
})

describe('/mcp of a real serve', () => {
  const connect = async (token: string, query = '') => {
    const client = new Client({ name: 'test', version: '1' })
    const requestInit = { headers: { authorization: token } }
    await client.connect(
      new StreamableHTTPClientTransport(new URL(installation.ready.mcp + query), { requestInit }),
    )
    return client
  }

  it('lists for a token what it may call, and refuses the rest by name', async () => {
    const { accountId } = installation.ready
    const admin = installation.client()
    const { token } = await admin.call(createUserToken, { name: 'agent', readOnly: true })
    const reader = await connect(token)
    const { tools } = await reader.listTools()
    expect(tools.length).toBeGreaterThan(20)
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint)).toBe(true)
    const call = { name: 'create-app', arguments: { accountId, name: 'x', port: 8080 } }
    const refused = await reader.callTool(call)
    expect(refused).toMatchObject({ isError: true, structuredContent: { error: 'This token is read-only' } })
    const { token: member } = await admin.call(addMember, {
      accountId,
      email: 'bob@example.com',
      name: 'Bob',
    })
    const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)
    const ordinary = await connect(member!)
    expect(await names(ordinary)).not.toContain('create-alert')
    expect(await names(await connect(installation.token))).toContain('create-alert')
    expect(await names(await connect(member!, '?read-only=1&tools=apps'))).not.toContain('create-app')
    await expect(connect(member!, '?readonly_=1')).rejects.toThrow()
    const gone = await connect(token)
    const { tokens } = await admin.call(listUserTokens, {})
    await admin.call(revokeUserToken, { tokenId: tokens.find((one) => one.name === 'agent')!.tokenId })
    await expect(gone.listTools()).rejects.toThrow(/401|authenticated/i)
  })
})

describe('a half-sent request head', () => {
  const cutAfterMs = (url: string, sent: string) =>
    new Promise<number>((resolve) => {
      const startedMs = performance.now()
      const { hostname, port } = new URL(url)
      const socket = net.connect(Number(port), hostname, () => socket.write(sent))
      socket.on('error', () => {}).resume()
      socket.once('close', () => resolve(performance.now() - startedMs))
    })

  it('is cut off after 15 s by the API and by the gateway, also on a connection that was used before', async () => {
    const { api, gateway } = installation.ready
    const whole = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
    const cuts = await Promise.all(
      [api, gateway].flatMap((url) => [cutAfterMs(url, 'GET /'), cutAfterMs(url, `${whole}GET /`)]),
    )
    for (const cut of cuts) {
      expect(cut).toBeGreaterThan(14_000)
      expect(cut).toBeLessThan(60_000)
    }
  })
})

describe('429', () => {
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  })
  const agent = new Agent({ connections: 40, pipelining: 1 })
  beforeAll(async () => {
    await installation.end('SIGTERM')
    await installation.start({ LONGSHORE_RATE_LIMITS: 'writes=50,reads=500' })
  })
  afterAll(() => agent.close())

  const send = async (token: string, url = `${installation.ready.api}/app`) => {
    const { statusCode, headers, body } = await request(url, {
      method: 'POST',
      headers: { authorization: token, 'content-type': 'application/json' },
      body: url === installation.ready.mcp ? initialize : '{}',
      dispatcher: agent,
    })
    return { status: statusCode, after: headers['retry-after'], text: await body.text() }
  }
  /** Forty callers at once, until one gets Retry-After or all requests are sent. */
  const flood = async (token: string, most: number, url?: string) => {
    let sent = 0
    let before = 0
    const startedMs = performance.now()
    let limited: Awaited<ReturnType<typeof send>> | null = null
    const caller = async () => {
      while (sent < most && limited === null) {
        sent += 1
        const answer = await send(token, url)
        if (answer.status < 400) throw new Error(`let in: ${answer.text}`)
        if (answer.status === 429) limited ??= answer
        else before += 1
      }
    }
    await Promise.all(Array.from({ length: 40 }, caller))
    const seconds = (performance.now() - startedMs) / 1000
    return { before, seconds, limited: limited as Awaited<ReturnType<typeof send>> | null }
  }

  it('limits only the principal that sends too many requests, with Retry-After', async () => {
    const { accountId } = installation.ready
    const member = { accountId, email: 'ada@example.com', name: 'Ada' }
    const { token } = await installation.client().call(addMember, member)
    const { before, seconds, limited } = await flood(token!, 60_000)
    expect(limited).toMatchObject({ status: 429, after: expect.stringMatching(/^[1-9]\d*$/) })
    expect(JSON.parse(limited!.text)).toEqual({ error: 'Too many requests', details: expect.any(String) })
    expect(before).toBeGreaterThanOrEqual(250)
    expect(before).toBeLessThanOrEqual(250 + Math.ceil(50 * seconds))
    expect((await send(installation.token)).status).toBe(400)
  })

  it('holds up an address that guesses tokens, but no good token from there', async () => {
    const { before, seconds, limited } = await flood(`lsu_${'x'.repeat(49)}`, 20_000)
    expect(limited).toMatchObject({ status: 429, after: expect.stringMatching(/^[1-9]\d*$/) })
    expect(before).toBeGreaterThanOrEqual(100)
    expect(before).toBeLessThanOrEqual(100 + Math.ceil(seconds))
    expect((await send(installation.token)).status).toBe(400)
    // /mcp shares the limit, and repeated attempts do not get through.
    const { mcp } = installation.ready
    expect((await flood(`lsu_${'y'.repeat(49)}`, 20_000, mcp)).limited).toMatchObject({
      status: 429,
      after: expect.any(String),
    })
    for (let count = 0; count < 50; count += 1) {
      expect([401, 429]).toContain((await send(`lsu_${'z'.repeat(49)}`, mcp)).status)
    }
    expect((await send(installation.token, mcp)).status).toBe(200)
  })
})
