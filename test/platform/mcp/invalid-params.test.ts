import { describe, expect, it } from 'vitest'
import { HttpFixture, rpc } from '../../../testkit/mcp/http-fixture.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'

const fixture = new HttpFixture()

describe('a request with wrong parameters gets -32602 and a sentence, in both eras', () => {
  it.each([
    ['tools/call', {}, 'params.name'],
    ['tools/call', { name: 5 }, 'params.name'],
    ['tools/call', { name: 'list-accounts', arguments: [] }, 'params.arguments'],
    ['resources/read', {}, 'params.uri'],
    ['prompts/get', { arguments: {} }, 'params.name'],
    ['prompts/get', { name: 'why-is-it-down', arguments: { envName: 5 } }, 'params.arguments.envName'],
    ['tools/list', { cursor: 5 }, 'params.cursor'],
  ])('%s %j', async (method, params, field) => {
    for (const sent of [{ body: rpc(method, params) }, rpc2026(method, params)]) {
      const { error } = JSON.parse((await fixture.raw(sent)).body)
      expect(error).toEqual({
        code: -32602,
        message: expect.stringMatching(`^The request has wrong parameters. ${field}: expected [^[{]*$`),
      })
    }
  })
})
