import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../../src/client/client.ts'
import { requestDeployStorageKey } from '../../../src/contract/deployments.ts'
import { MailServer } from '../../../testkit/alerting/mail-server.ts'
import { get } from '../../../testkit/gateway/harness.ts'
import { makeFunction } from '../../../testkit/platform/deploy.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

// `localhost` stands for any address of this machine that is not the bound one.
describe('LONGSHORE_HOST 0.0.0.0', () => {
  const installation = new Installation({
    LONGSHORE_ENGINE: 'process',
    LONGSHORE_HOST: '0.0.0.0',
    LONGSHORE_PUBLIC_URL: 'https://longshore.example',
  })
  let mail: MailServer
  let base = ''
  let appEnvId = ''
  let front = 0
  beforeAll(async () => {
    mail = await MailServer.start()
    const { api, gateway } = await installation.start({ LONGSHORE_SMTP_URL: mail.url })
    front = Number(new URL(gateway).port)
    base = `http://localhost:${new URL(api).port}`
    ;({ appEnvId } = await makeFunction(installation, 'far'))
  })
  afterAll(async () => {
    await installation.dispose()
    await mail.close()
  })

  it('gives REST callers an uploadUrl at the address they used, and it takes the upload', async () => {
    const client = createClient({ url: base, token: installation.token, surface: 'cli' })
    const { uploadUrl } = await client.call(requestDeployStorageKey, { appEnvId })
    expect(uploadUrl.startsWith(`${base}/uploads/`), uploadUrl).toBe(true)
    expect((await fetch(uploadUrl, { method: 'PUT', body: 'x' })).status).toBe(200)
  })

  it('answers at the host of LONGSHORE_PUBLIC_URL through the gateway: API, console and /mcp', async () => {
    const host = 'longshore.example'
    const authorization = installation.token
    const known = await get(front, host, { path: '/api/public/v1/regions', headers: { authorization } })
    expect([known.status, JSON.parse(known.body)]).toEqual([200, expect.anything()])
    expect((await get(front, host, { path: '/api/public/v1/regions' })).status).toBe(401)
    expect((await get(front, host, { path: '/console/' })).body).toContain('<html')
    expect((await get(front, host, { path: '/mcp', method: 'POST', body: '{}' })).status).toBe(401)
    expect((await get(front, 'other.example')).status).toBe(404)
  })

  it('gives it to agents at /mcp too', async () => {
    const agent = new Client({ name: 'far', version: '1' })
    await agent.connect(
      new StreamableHTTPClientTransport(new URL(`${base}/mcp`), {
        requestInit: { headers: { authorization: installation.token } },
      }),
    )
    const { structuredContent } = await agent.callTool({
      name: 'request-deploy-storage-key',
      arguments: { appEnvId },
    })
    expect((structuredContent as { uploadUrl: string }).uploadUrl).toContain(`${base}/uploads/`)
    await agent.close()
  })
  it('mails a new user the public address, never one that the inviter sent', async () => {
    const { status } = await fetch(`${base}/api/public/v1/member`, {
      method: 'POST',
      headers: {
        authorization: installation.token,
        'content-type': 'application/json',
        'x-forwarded-host': 'evil.example',
      },
      body: JSON.stringify({
        accountId: installation.ready.accountId,
        email: 'new@example.com',
        name: 'New',
      }),
    })
    expect(status).toBe(200)
    const text = mail.mails[0]!.raw.replaceAll('=\r\n', '')
    expect(text).toContain('at https://longshore.example.')
    expect(text).not.toContain('evil.example')
  })
})
