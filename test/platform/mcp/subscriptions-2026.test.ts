import { describe, expect, it } from 'vitest'
import { HttpFixture } from '../../../testkit/mcp/http-fixture.ts'
import { messagesOfStream, rpc2026 } from '../../../testkit/mcp/rpc-2026.ts'
import { until } from '../../../testkit/until.ts'

const fixture = new HttpFixture()

/** Sends a request and reads the one JSON answer. */
async function ask(method: string, params: Record<string, unknown>) {
  const raw = await fixture.raw(rpc2026(method, params))
  return { status: raw.status, ...JSON.parse(raw.body) }
}

describe('subscriptions/listen', () => {
  it('reports resources that change, as their reader sees them', async () => {
    const uri = 'longshore://environments/shop-prod'
    const { headers, body } = rpc2026('subscriptions/listen', {
      notifications: { resourceSubscriptions: [uri] },
    })
    const left = new AbortController()
    const response = await fetch(fixture.url, {
      method: 'POST',
      headers: { authorization: 'lsu_a', ...headers },
      body,
      signal: left.signal,
    })
    let text = ''
    const reading = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
    })().catch(() => {})
    await until(() => messagesOfStream(text).length === 1 && fixture.backend.state.calls.length > 0)
    expect(messagesOfStream(text)[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: [uri] } },
    })
    const reads = fixture.backend.state.calls.length
    await until(() => fixture.backend.state.calls.length > reads + 1)
    expect(messagesOfStream(text)).toHaveLength(1)
    for (const env of fixture.backend.state.envs.values()) env.status = 'STOPPED'
    await until(() => messagesOfStream(text).length > 1)
    expect(messagesOfStream(text)[1]).toMatchObject({
      method: 'notifications/resources/updated',
      params: { uri },
    })
    left.abort()
    await reading
  })

  it('reports a list that changed with the rights of its caller', async () => {
    const permissions = {
      kind: 'user' as const,
      readOnly: false,
      groups: null,
      admin: true,
      manageMembers: true,
    }
    await fixture.stop()
    await fixture.serve({ permissions: async () => ({ ...permissions }) })
    const { headers, body } = rpc2026('subscriptions/listen', { notifications: { toolsListChanged: true } })
    const left = new AbortController()
    const response = await fetch(fixture.url, {
      method: 'POST',
      headers: { authorization: 'lsu_a', ...headers },
      body,
      signal: left.signal,
    })
    let text = ''
    const reading = (async () => {
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) text += chunk
    })().catch(() => {})
    await until(() => messagesOfStream(text).length === 1)
    expect(messagesOfStream(text)[0]).toMatchObject({ params: { notifications: { toolsListChanged: true } } })
    const { tools: before } = (await ask('tools/list', {})).result
    permissions.readOnly = true
    await until(() => messagesOfStream(text).length > 1)
    expect(messagesOfStream(text)[1]).toMatchObject({ method: 'notifications/tools/list_changed' })
    expect((await ask('tools/list', {})).result.tools.length).toBeLessThan(before.length)
    left.abort()
    await reading
  })

  it('is limited in number for one caller, also when many arrive at once', async () => {
    await fixture.stop()
    let arrived = 0
    let goOn = () => {}
    const all = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const authenticate = async () => {
      arrived += 1
      if (arrived === 30) goOn()
      await all
      return 'usr_a'
    }
    await fixture.serve({ authenticate })
    const { headers, body } = rpc2026('subscriptions/listen', {
      notifications: { resourceSubscriptions: ['longshore://environments/shop-prod'] },
    })
    const left = new AbortController()
    const types = await Promise.all(
      Array.from({ length: 30 }, async () => {
        const request = { method: 'POST', headers: { authorization: 'lsu_a', ...headers }, body }
        const response = await fetch(fixture.url, { ...request, signal: left.signal })
        return response.headers.get('content-type')
      }),
    )
    left.abort()
    expect(types.filter((type) => type === 'text/event-stream')).toHaveLength(10)
    // Those that ended make room again.
    for (let type: string | null = ''; type !== 'text/event-stream'; ) {
      const request = { method: 'POST', headers: { authorization: 'lsu_a', ...headers }, body }
      const again = await fetch(fixture.url, request)
      type = again.headers.get('content-type')
      await again.body!.cancel()
    }
  })

  it('is limited in resources', async () => {
    const resourceSubscriptions = Array.from(
      { length: 21 },
      (_, index) => `longshore://environments/e${index}`,
    )
    const refused = await ask('subscriptions/listen', { notifications: { resourceSubscriptions } })
    expect(refused.error).toMatchObject({ code: -32603, message: 'Subscription limit reached' })
  })
})
