import { afterAll, beforeAll, expect, it } from 'vitest'
import { createFetchDocument } from '../../../src/alerting/notifiers/fetch-document.ts'
import { systemClock } from '../../../src/clock.ts'
import { createApp } from '../../../src/contract/apps.ts'
import { createUserToken, listUserTokens } from '../../../src/contract/users.ts'
import { openOAuth } from '../../../src/server/oauth.ts'
import { newTraceparent } from '../../../src/trace.ts'
import { callTool } from '../../../testkit/oauth/call-tool.ts'
import { SigningIssuer } from '../../../testkit/oauth/signing-issuer.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const publicUrl = 'https://longshore.example.com'
const resource = `${publicUrl}/mcp`
let platform: TestPlatform
let issuer: SigningIssuer

beforeAll(async () => {
  issuer = await SigningIssuer.start()
  platform = await TestPlatform.start({ reconciles: false, oauth: { issuer: issuer.issuer, publicUrl } })
})
afterAll(async () => {
  await platform?.close()
  await issuer?.close()
})

it('a person has at most 50 tokens and clients; those that expired make room', async () => {
  const user = await platform.makeUser()
  const claims = { email: user.email, scope: 'environments:read' }
  const callAs = async (client: string) =>
    callTool(platform.apiUrl, await issuer.sign(resource, { ...claims, client_id: client }), 'list-accounts')
  const list = async () => (await user.client.call(listUserTokens, {})).tokens

  for (let count = 1; count < 48; count += 1) await user.client.call(createUserToken, { name: 'filler' })
  for (const client of ['first', 'second']) expect((await callAs(client)).status).toBe(200)
  const refused = await callAs('third')
  expect(refused.status).toBe(403)
  expect(await refused.json()).toMatchObject({
    error: 'The person has 50 tokens and connected agents',
    details: expect.stringContaining('revoke one'),
  })
  expect((await callAs('first')).status).toBe(200)
  expect(await list()).toHaveLength(50)

  await platform.db.write((tx) =>
    tx
      .updateTable('tokens')
      .set({ expires_at: '2001-01-01T00:00:00.000Z' })
      .where('user_id', '=', user.userId)
      .where('name', '=', 'filler')
      .execute(),
  )
  expect((await callAs('third')).status).toBe(200)
  expect((await list()).map(({ name }) => name).sort()).toEqual(['', 'first', 'second', 'third'])
})

it('a call has the scopes of its own token, whatever other tokens of the client were used since', async () => {
  const { accountId, admin, db, clock, log, secrets } = platform
  const oauth = openOAuth({
    ...{ db, clock, log, secrets, publicUrl, apiUrl: () => platform.apiUrl },
    setting: { issuer: issuer.issuer },
    fetchDocument: () => Promise.reject(new Error('no network in this test')),
    fetchTrusted: createFetchDocument({ clock: systemClock, allowPrivate: true }),
  })
  const claims = { email: admin.email, client_id: 'one-client' }
  const presented = async (scope: string, more = {}) => {
    const token = await issuer.sign(resource, { ...claims, scope, ...more })
    return oauth.grantOf((await oauth.mcp.admit(token, undefined))!.token)
  }
  const create = (token: string | null, name: string) =>
    platform.runner.run({
      operation: createApp,
      input: { accountId, name, port: 80, dockerPreset: 'CUSTOM' },
      token,
      credential: 'grant',
      surface: 'mcp',
      traceparent: newTraceparent(),
      idempotencyKey: name,
      dryRun: false,
    })
  const grantOfClient = async () =>
    (await admin.client.call(listUserTokens, {})).tokens.filter(({ name }) => name === 'one-client')

  const narrow = await presented('environments:read')
  const wide = await presented('environments:read environments:write')
  await expect(create(narrow, 'beyond')).rejects.toThrow('insufficient_scope')
  expect((await create(wide, 'within')).status).toBe(200)
  // Nor the kept answer of the other token's call.
  await expect(create(narrow, 'within')).rejects.toThrow('insufficient_scope')

  const before = await grantOfClient()
  await presented('environments:read', { exp: Math.floor(Date.now() / 1000) + 60 })
  expect((await create(wide, 'again')).status).toBe(200)
  const after = await grantOfClient()
  expect(after).toMatchObject([{ tokenId: before[0]!.tokenId, expiresAt: before[0]!.expiresAt }])
})
