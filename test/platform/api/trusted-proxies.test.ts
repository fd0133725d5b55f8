import { afterEach, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import { type ScriptedServer, send, startScripted } from '../../../testkit/api/scripted-server.ts'

let on: ScriptedServer
afterEach(() => on.server.close())

/** The addresses against which the calls counted. */
async function counted(trustedProxies: string[] | undefined): Promise<string[]> {
  const addresses: string[] = []
  on = await startScripted({
    ...(trustedProxies && { trustedProxies }),
    runner: {
      run: async () => ({ status: 200, body: '{}' }),
      authenticate: async (_token, origin) => {
        addresses.push(origin?.address ?? '')
        throw new AppError('unauthenticated', 'User not authenticated')
      },
    },
  })
  for (const forged of ['203.0.113.9', '198.51.100.4, 203.0.113.9']) {
    await send(on, 'GET', '/api/public/v1/app-envs', undefined, { 'x-forwarded-for': forged })
  }
  return addresses
}

it('wrong tokens count against the client that a trusted proxy names, never one that a stranger names', async () => {
  expect(await counted(undefined)).toEqual(['127.0.0.1', '127.0.0.1'])
  await on.server.close()
  expect(await counted(['loopback'])).toEqual(['203.0.113.9', '203.0.113.9'])
})
