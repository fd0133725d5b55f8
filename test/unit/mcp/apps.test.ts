import { describe, expect, it } from 'vitest'
import { takesApps } from '../../../src/mcp/apps/apps.ts'
import { defaultToolPolicy } from '../../../src/mcp/policy/tool-policy.ts'
import { prebuild } from '../../../src/mcp/tools/prebuild.ts'
import { listedTools } from '../../../src/mcp/tools/published-tool.ts'
import type { RpcMessage } from '../../../src/mcp/transport/json-rpc.ts'
import { LazyDiscover } from '../../../src/mcp/transport/lazy-discover.ts'
import { LazyInitialize } from '../../../src/mcp/transport/lazy-initialize.ts'
import { rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { tools } from '../../../tools/index.ts'

const ui = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } }
const prebuilt = await prebuild(tools)
const list = listedTools(prebuilt.tools, defaultToolPolicy)

interface Lists {
  tools: { name: string; _meta?: { ui: { resourceUri: string } } }[]
  resources: { uri: string; mimeType: string }[]
}

/** What a client with these capabilities gets from the first lists, in one of the eras. */
function listsFor(era: string, capabilities: Record<string, unknown>): Lists {
  const written: { result: Partial<Lists> }[] = []
  const options = {
    prebuilt,
    tools: list,
    write: (message: unknown) => written.push(message as never),
    openServer: () => Promise.reject(new Error('the lists need no server')),
  }
  const methods = ['tools/list', 'resources/list']
  if (era === '2026') {
    const front = new LazyDiscover(options)
    for (const method of methods) front.accept(JSON.parse(rpc2026(method, {}, { capabilities }).body))
  } else {
    const front = new LazyInitialize(options)
    const clientInfo = { name: 'host', version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities, clientInfo }
    front.accept({ jsonrpc: '2.0', id: 0, method: 'initialize', params } as RpcMessage)
    for (const method of methods) front.accept({ jsonrpc: '2.0', id: 1, method } as RpcMessage)
  }
  return Object.assign({}, ...written.map(({ result }) => result))
}

describe.each(['2025', '2026'])('the page for hosts, in %s', (era) => {
  it('is listed for a host that shows pages, with the tools that it shows', () => {
    const { tools: listed, resources } = listsFor(era, { extensions: ui })
    const withPage = listed.filter(({ _meta }) => _meta?.ui.resourceUri === 'ui://longshore/environment')
    expect(withPage.map(({ name }) => name)).toContain('get-app-env-status')
    expect(withPage.map(({ name }) => name)).toContain('delete-app-env')
    expect(withPage.length).toBeLessThan(listed.length / 2)
    expect(resources).toContainEqual(
      expect.objectContaining({ uri: 'ui://longshore/environment', mimeType: 'text/html;profile=mcp-app' }),
    )
  })

  it('is not listed for any other host', () => {
    for (const capabilities of [{}, { elicitation: {} }, { extensions: {} }]) {
      const { tools: listed, resources } = listsFor(era, capabilities)
      expect(listed).toEqual(list)
      expect(resources.some(({ uri }) => uri.startsWith('ui://'))).toBe(false)
    }
  })
})

it.each([
  [undefined, false],
  [null, false],
  [{ extensions: { 'io.modelcontextprotocol/ui': {} } }, false],
  [{ extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html'] } } }, false],
  [{ extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: 'text/html;profile=mcp-app' } } }, false],
  [{ extensions: ui }, true],
])('a client with capabilities %j shows pages: %s', (capabilities, shows) => {
  expect(takesApps(capabilities)).toBe(shows)
})
