import { afterAll, describe, expect, it } from 'vitest'
import { listInstances } from '../../../src/contract/instances.ts'
import { createUserToken, getUser, listUserTokens } from '../../../src/contract/users.ts'
import { Installation } from '../../../testkit/platform/installation.ts'

describe('a real installation', () => {
  const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
  afterAll(() => installation.dispose(), 60_000)

  it('stores the last uses of tokens when it stops', async () => {
    await installation.start()
    const { token, tokenId } = await installation.client().call(createUserToken, { name: 'agent' })
    await installation.client(token).call(getUser, {})
    const lastUse = async () => {
      const { tokens } = await installation.client().call(listUserTokens, {})
      return tokens.find((one) => one.tokenId === tokenId)?.lastUsedAt
    }
    const usedAt = await lastUse()
    expect(usedAt).toMatch(/^\d{4}-/)
    expect(await installation.end('SIGTERM')).toBe(0)
    await installation.start()
    expect(await lastUse()).toBe(usedAt)
  }, 60_000)

  it('lists its one instance, with the lease and the regions', async () => {
    const { instances } = await installation.client().call(listInstances, {})
    const [{ startedAt, lastSeenAt } = { startedAt: '', lastSeenAt: '' }] = instances
    expect(instances).toEqual([
      {
        node: expect.stringMatching(/./),
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        startedAt: expect.stringMatching(/Z$/),
        lastSeenAt: expect.stringMatching(/Z$/),
        leases: [{ name: 'control-plane', since: startedAt }],
        regions: ['local'],
      },
    ])
    expect(Date.parse(lastSeenAt)).toBeGreaterThan(Date.parse(startedAt))
  })
})
