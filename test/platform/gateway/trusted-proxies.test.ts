import type http from 'node:http'
import { describe, expect, it } from 'vitest'
import { isTrustedProxy, TrustedProxies } from '../../../src/trusted-proxies.ts'
import { appRoute, get, startGateway, upstream } from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const a = 'a.app.localhost'
const sent = {
  'x-forwarded-for': '203.0.113.9, 10.0.0.7',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'shop.example.com',
  'x-forwarded-port': '443',
  'x-forwarded-prefix': '/shop',
  'x-real-ip': '203.0.113.9',
  forwarded: 'for=203.0.113.9;proto=https',
}

async function forwardedBy(trustedProxies: string[], headers: Record<string, string>) {
  let seen: http.IncomingHttpHeaders = {}
  const container = await upstream((request, response) => {
    seen = request.headers
    response.end()
  })
  const { port, heard } = await startGateway([appRoute([container.container('one')])], {
    requestLog: 'on',
    trustedProxies,
  })
  await get(port, a, { headers })
  await until(() => heard.requests.length > 0, 'the log')
  const names = ['for', 'proto', 'host', 'port', 'prefix'].map((name) => `x-forwarded-${name}`)
  const known = [...names, 'x-real-ip', 'forwarded', 'x_forwarded_for'].map((name) => [name, seen[name]])
  return { ...Object.fromEntries(known), logged: heard.requests[0]!.records[0]!.clientAddress }
}

describe('headers about the client', () => {
  it('of a stranger are replaced', async () => {
    const forged = { ...sent, X_Forwarded_For: '203.0.113.9' }
    expect(await forwardedBy(['10.0.0.0/8'], forged)).toEqual({
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': a,
      'x-forwarded-port': '80',
      'x-forwarded-prefix': undefined,
      'x-real-ip': '127.0.0.1',
      forwarded: `for=127.0.0.1;host="${a}";proto=http`,
      x_forwarded_for: undefined,
      logged: '127.0.0.1',
    })
  })

  it('of a trusted proxy are passed on, with its own address appended', async () => {
    expect(await forwardedBy(['loopback', '10.0.0.0/8'], sent)).toEqual({
      'x-forwarded-for': '203.0.113.9, 10.0.0.7, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'shop.example.com',
      'x-forwarded-port': '443',
      'x-forwarded-prefix': '/shop',
      'x-real-ip': '203.0.113.9',
      forwarded: 'for=203.0.113.9;proto=https, for=127.0.0.1;host="shop.example.com";proto=https',
      x_forwarded_for: undefined,
      logged: '203.0.113.9',
    })
  })

  it('name the client nearest to the trusted proxies: what a client puts in front does not count', async () => {
    const { logged } = await forwardedBy(['loopback'], sent)
    expect(logged).toBe('10.0.0.7')
    const withForwarded = { forwarded: 'for="[2001:db8::1]:4711";proto=https, for=10.0.0.7' }
    expect(await forwardedBy(['loopback', '10.0.0.7'], withForwarded)).toMatchObject({
      'x-forwarded-for': '2001:db8::1, 10.0.0.7, 127.0.0.1',
      logged: '2001:db8::1',
    })
  })

  it('that are malformed are ignored', async () => {
    const odd = { 'x-forwarded-proto': 'gopher', 'x-forwarded-host': 'a b', 'x-forwarded-port': '99x' }
    expect(await forwardedBy(['loopback'], { ...odd, 'x-forwarded-for': 'unknown' })).toMatchObject({
      ...{ 'x-forwarded-proto': 'http', 'x-forwarded-host': a, 'x-forwarded-port': '80' },
      logged: '127.0.0.1',
    })
  })
})

it('the list takes addresses, CIDRs and loopback', () => {
  const good = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8', '::1', 'loopback']
  expect(good.every(isTrustedProxy)).toBe(true)
  expect(['proxy.example.com', '10.0.0.0/33', '10.0.0/8', '', '1.2.3.4/8/9'].some(isTrustedProxy)).toBe(false)
  const proxies = new TrustedProxies(good)
  expect(['127.8.9.1', '10.1.2.3', 'fd00::7', '::1'].every((one) => proxies.has(one))).toBe(true)
  expect(['11.0.0.1', '', 'localhost'].some((one) => proxies.has(one))).toBe(false)
})
