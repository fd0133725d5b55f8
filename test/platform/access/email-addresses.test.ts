import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const add = (email: string) =>
  platform.request('POST', '/member', {
    token: platform.admin.token,
    input: { accountId: platform.accountId, email, name: 'Somebody' },
  })

it('composed and decomposed forms, and capitals of ASCII, are one address', async () => {
  expect((await add('jos\u00e9@example.com')).json.token).toMatch(/^lsu_/)
  for (const same of ['jose\u0301@example.com', 'JOS\u00e9@Example.com'])
    expect((await add(same)).json.error, same).toBe('Already a member')
})

it('refuses an address that looks like that of another user, in both directions', async () => {
  expect((await add('anna@example.com')).status).toBe(200)
  expect((await add('пope@example.com')).status).toBe(200)
  for (const alike of ['аnna@example.com', 'ａnna@example.com', 'nope@example.com']) {
    const answer = await add(alike)
    expect([answer.status, answer.json.error], alike).toEqual([
      400,
      'This address looks like that of another user',
    ])
  }
  // Another letter is another address, and a person with an accent is not the one without.
  for (const other of ['ännä@example.com', 'anne@example.com'])
    expect((await add(other)).status, other).toBe(200)
  expect((await add('\u212aim@example.com')).json.details).toContain('must be an e-mail address')
})
