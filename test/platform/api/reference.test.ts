import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ScriptedServer, startScripted } from '../../../testkit/api/scripted-server.ts'

let on: ScriptedServer
beforeAll(async () => {
  on = await startScripted({ referenceDir: 'node_modules/swagger-ui-dist' })
})
afterAll(() => on.server.close())

it('the API reference page loads everything from this server', async () => {
  const page = await fetch(`${on.url}/docs`)
  expect(page.status).toBe(200)
  expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
  const policy = page.headers.get('content-security-policy')
  expect(policy).toContain("default-src 'none'")
  expect(policy).toContain("script-src 'self';")
  expect(policy).toContain("frame-ancestors 'none'")
  const html = await page.text()
  expect(html).not.toMatch(/https?:\/\//)
  const links = [...html.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((match) => match[1] as string)
  expect(links).toHaveLength(4)
  for (const link of links) {
    const answer = await fetch(on.url + link)
    expect(answer.status, link).toBe(200)
    expect((await answer.text()).length, link).toBeGreaterThan(100)
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  }
  expect(await (await fetch(`${on.url}/docs/start.js`)).text()).toContain('openapi.json')
})

it('serves no other file of that folder', async () => {
  for (const path of [
    '/docs/package.json',
    '/docs/../package.json',
    '/docs/%2e%2e/package.json',
    '/docs/x',
  ]) {
    expect((await fetch(on.url + path)).status, path).toBe(404)
  }
})

it('is linked from the front page only if it is served', async () => {
  expect(await (await fetch(on.url)).json()).toMatchObject({ reference: '/docs' })
  const without = await startScripted()
  expect(await (await fetch(without.url)).json()).not.toHaveProperty('reference')
  expect((await fetch(`${without.url}/docs`)).status).toBe(404)
  await without.server.close()
})
