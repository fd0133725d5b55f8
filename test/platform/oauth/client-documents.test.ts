import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFetchDocument } from '../../../src/alerting/notifiers/fetch-document.ts'
import { systemClock } from '../../../src/clock.ts'
import type { FetchDocument } from '../../../src/oauth/clients.ts'
import { OAuthHost } from '../../../testkit/oauth/host.ts'
import { Person } from '../../../testkit/oauth/person.ts'
import { RawClient } from '../../../testkit/oauth/raw-client.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const id = 'https://host.example.com/client.json'
const callback = 'http://127.0.0.1:33418/callback'

describe('clients that are known by a document', () => {
  let platform: TestPlatform
  let person: Person
  const documents = new Map<string, { status?: number; type?: string; value: unknown }>()
  let fetched: string[] = []
  const fetchDocument: FetchDocument = async (url) => {
    fetched.push(url)
    const found = documents.get(url)
    if (!found) throw new Error('the name of the receiver does not resolve')
    const { status = 200, type = 'application/json', value } = found
    return { status, type, body: Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)) }
  }
  beforeAll(async () => {
    const oauth = { fetchDocument }
    platform = await TestPlatform.start({ reconciles: false, oauth, consoleDir: 'dist/console' })
    person = await Person.signIn(platform, platform.admin.token)
  })
  afterAll(() => platform.close())

  const document = (clientId: string, more: object = {}) => ({
    client_id: clientId,
    client_name: 'Known host',
    redirect_uris: [callback],
    ...more,
  })
  const sees = (clientId: string) => person.sees(new RawClient(platform.apiUrl, clientId, callback).url())

  it('signs in the official client by its document, whose host the page names', async () => {
    documents.set(id, { value: document(id) })
    fetched = []
    const host = new OAuthHost(`${platform.apiUrl}/mcp`, (url) => person.approves(url))
    host.clientMetadataUrl = id
    const agent = await host.connect()
    await agent.does('list-accounts')
    await agent.close()
    expect(host.information?.client_id).toBe(id)
    expect(await sees(id)).toMatchObject({ client: { name: 'Known host', verifiedHost: 'host.example.com' } })
    // Read once, for the page; the token endpoint does not need it.
    expect(fetched).toEqual([id])
  })

  it('is fetched for signed-in people only', async () => {
    fetched = []
    const { url } = {
      url: new RawClient(platform.apiUrl, 'https://host.example.com/unseen.json', callback).url(),
    }
    await fetch(url)
    await fetch(`${platform.apiUrl}/console/authorization${url.search}`, {
      headers: { 'longshore-console': '1' },
    })
    await new RawClient(platform.apiUrl, 'https://host.example.com/unseen.json', callback).exchange('lsc_x')
    expect(fetched).toEqual([])
  })

  it.each([
    ['of another id', { value: document('https://host.example.com/other.json') }],
    ['without an id', { value: { client_name: 'x', redirect_uris: [callback] } }],
    ['with a secret', { value: (one: string) => document(one, { client_secret: 'x' }) }],
    [
      'with another way to authenticate',
      { value: (one: string) => document(one, { token_endpoint_auth_method: 'private_key_jwt' }) },
    ],
    [
      'with a script as its address',
      { value: (one: string) => document(one, { redirect_uris: ['javascript:x'] }) },
    ],
    ['that is not JSON', { value: '<html>' }],
    ['of another type', { type: 'text/html', value: (one: string) => document(one) }],
    ['that redirects', { status: 302, value: (one: string) => document(one) }],
    ['that does not exist', { status: 404, value: '{}' }],
  ])('refuses a document %s', async (what, { value, ...rest }) => {
    const clientId = `https://host.example.com/${encodeURIComponent(what)}.json`
    documents.set(clientId, { ...rest, value: typeof value === 'function' ? value(clientId) : value })
    expect(await sees(clientId)).toMatchObject({ error: 'This program cannot be connected' })
  })

  it.each([
    'http://host.example.com/client.json',
    'https://host.example.com/',
    'https://host.example.com',
    'https://user@host.example.com/client.json',
    'https://host.example.com/a/../client.json',
    'https://host.example.com/client.json#x',
    'https://HOST.example.com/client.json',
    'https://host.example.com:443/client.json',
  ])('fetches nothing for the id %s', async (clientId) => {
    fetched = []
    expect(await sees(clientId)).toHaveProperty('error')
    expect(fetched).toEqual([])
  })

  it('shows a name without characters that hide or reorder text', async () => {
    const clientId = 'https://host.example.com/names.json'
    documents.set(clientId, {
      value: document(clientId, { client_name: `Good\u202e\u200b host\n${'x'.repeat(200)}` }),
    })
    const seen = await sees(clientId)
    const name = 'client' in seen ? seen.client.name : ''
    expect(name).toMatch(/^Good host x+$/)
    expect(name.length).toBe(80)
  })
})

describe('documents cannot reach the network of the server (SSRF)', () => {
  it('refuses private addresses by any spelling and name, large bodies and slow servers', async () => {
    let connections = 0
    const server = createServer((_req, res) => res.end('x'.repeat(10_000)))
    server.on('connection', () => {
      connections += 1
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      const closed = createFetchDocument({
        clock: systemClock,
        allowPrivate: false,
        resolve: async (name) =>
          name === 'rebound.example.com' ? ['93.184.216.34', '169.254.169.254'] : ['127.0.0.1'],
      })
      for (const host of [
        '127.0.0.1',
        '127.1',
        '2130706433',
        '0x7f000001',
        'localhost',
        '[::1]',
        '[::ffff:127.0.0.1]',
        '169.254.169.254',
        '10.0.0.1',
        'inside.example.com',
        'rebound.example.com',
      ]) {
        await expect(closed(`https://${host}:${port}/client.json`, 5_000), host).rejects.toThrow('private')
      }
      expect(connections).toBe(0)
      const open = createFetchDocument({ clock: systemClock, allowPrivate: true })
      await expect(open(`http://127.0.0.1:${port}/`, 5_000)).rejects.toThrow('more than 5000 bytes')
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  it('reports a redirect instead of following it', async () => {
    const server = createServer((req, res) => {
      if (req.url === '/') res.writeHead(302, { location: '/secret' })
      res.end('secret')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    try {
      const open = createFetchDocument({ clock: systemClock, allowPrivate: true })
      expect(await open(`http://127.0.0.1:${port}/`, 5_000)).toMatchObject({ status: 302 })
    } finally {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })
})
