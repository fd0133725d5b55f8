import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { updateAppEnvVariables } from '../../../src/contract/app-env-actions.ts'
import { createContactPoint, testContactPoint } from '../../../src/contract/contact-points.ts'
import { addMember } from '../../../src/contract/members.ts'
import { createUserToken, listUserTokens, revokeUserToken } from '../../../src/contract/users.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { Canaries, filesBelow, type Output } from '../../../testkit/secrets/canaries.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_LOG_LEVEL: 'trace' })
beforeAll(() => installation.start())
afterAll(() => installation.dispose())

const outward = Object.values(os.networkInterfaces())
  .flat()
  .find((one) => one?.family === 'IPv4' && !one.internal)?.address

const portOf = (address: string) => Number(new URL(address).port)

describe('access to a running platform', () => {
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
      const accepts = (port: number) =>
        new Promise<boolean>((resolve) => {
          const socket = net.connect({ host: outward!, port }, () => resolve(true))
          socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
        })
      expect(await accepts(portOf(installation.ready.api))).toBe(false)
      expect(await accepts(portOf(installation.ready.gateway))).toBe(false)
      expect(installation.stderr).not.toContain('WARNING')
      const open = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_HOST: '0.0.0.0' })
      try {
        await open.start()
        expect(await accepts(portOf(open.ready.api))).toBe(true)
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
    expect(tools.length).toBeGreaterThan(10)
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
