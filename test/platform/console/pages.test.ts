import { renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeConsoleShell } from '../../../testkit/console/shell.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let platform: TestPlatform
let origin = ''
const shell = makeConsoleShell()

beforeAll(async () => {
  platform = await TestPlatform.start({ clock, reconciles: false, consoleDir: shell })
  origin = platform.apiUrl
})
afterAll(async () => {
  await platform.close()
  rmSync(shell, { recursive: true })
})

describe('the pages of the console', () => {
  it('are one shell that no other page can frame, run script in or learn addresses from', async () => {
    for (const page of [
      '/console/',
      '/console/environments/any/logs',
      '/console/session',
      '/console/..%2fx',
    ]) {
      const answer = await fetch(origin + page)
      expect(answer.status, page).toBe(200)
      expect(await answer.text()).toContain('shell')
      const policy = answer.headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).not.toContain('unsafe')
      expect(answer.headers.get('x-frame-options')).toBe('DENY')
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(answer.headers.get('cache-control')).toBe('no-store')
    }
  })

  it('serves assets again after their list could not be read', async () => {
    const list = path.join(shell, 'assets.json')
    renameSync(list, `${list}.away`)
    expect((await fetch(`${origin}/console/assets/a.js`)).status).toBe(500)
    renameSync(`${list}.away`, list)
    expect((await fetch(`${origin}/console/assets/a.js`)).status).toBe(200)
  })

  it('serves listed assets only', async () => {
    const asset = await fetch(`${origin}/console/assets/a.js`)
    expect([asset.status, await asset.text()]).toEqual([200, 'run()'])
    expect(asset.headers.get('cache-control')).toContain('immutable')
    for (const name of ['index.html', '..%2findex.html', 'assets.json', '__proto__', 'toString'])
      expect((await fetch(`${origin}/console/assets/${name}`)).status, name).toBe(404)
  })

  it('redirects people from / to the console, and nowhere else (open redirect)', async () => {
    const accept = { accept: 'text/html' }
    const answer = await fetch(`${origin}/?next=//evil.example`, { redirect: 'manual', headers: accept })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/console/'])
    const bare = await fetch(`${origin}/console?next=//evil.example`, { redirect: 'manual' })
    expect(bare.headers.get('location')).toBe('/console/')
    const any = await fetch(origin, { redirect: 'manual' })
    expect([any.status, any.headers.get('location')]).toEqual([302, '/console/'])
    const program = await fetch(origin, { headers: { accept: 'application/json' } })
    expect(await program.json()).toMatchObject({ console: '/console/' })
  })
})
