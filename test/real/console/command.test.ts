import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Installation } from '../../../testkit/platform/installation.ts'

const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
beforeAll(async () => {
  await installation.start()
})
afterAll(() => installation.dispose())

async function signIn(link: string): Promise<number> {
  const { origin, hash } = new URL(link)
  const headers = { 'longshore-console': '1', 'content-type': 'application/json' }
  const body = JSON.stringify({ code: hash.slice(1) })
  return (await fetch(`${origin}/console/session`, { method: 'POST', headers, body })).status
}

it('the ready line names the console and a link that signs in once; serve.json keeps no link', async () => {
  const { console: address, signInUrl, api } = installation.ready
  expect(address).toBe(`${new URL(api).origin}/console/`)
  expect(signInUrl).toMatch(new RegExp(`^${address}sign-in#[\\w-]{43}$`))
  expect(await (await fetch(address)).text()).toContain('<div id="console">')
  const kept = readFileSync(path.join(installation.home, 'run/serve.json'), 'utf8')
  expect(kept).toContain(address)
  expect(kept).not.toContain('sign-in')
  expect([await signIn(signInUrl!), await signIn(signInUrl!)]).toEqual([200, 401])
})

it('longshore console --print makes a fresh link with the admin token of the data directory', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['dist/longshore.js', 'console', '--print'],
    {
      env: { ...process.env, LONGSHORE_HOME: installation.home },
    },
  )
  expect(await signIn(stdout.trim())).toBe(200)
})

it('longshore console PATH opens that page after the sign-in', async () => {
  const printed = async (page: string) => {
    const args = ['dist/longshore.js', 'console', page, '--print']
    const env = { ...process.env, LONGSHORE_HOME: installation.home }
    return (await promisify(execFile)(process.execPath, args, { env })).stdout.trim()
  }
  const link = await printed('environments/shop-prod?account=acc_1')
  expect(new URL(link).searchParams.get('next')).toBe('/console/environments/shop-prod?account=acc_1')
  expect(await signIn(link)).toBe(200)
  expect(new URL(await printed('/console/activity')).searchParams.get('next')).toBe('/console/activity')
})

it('makes no links while other machines can reach the server', async () => {
  await installation.end('SIGTERM')
  const { signInUrl } = await installation.start({ LONGSHORE_HOST: '0.0.0.0' })
  expect(signInUrl).toBeNull()
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    ['dist/longshore.js', 'console', '--print'],
    {
      env: { ...process.env, LONGSHORE_HOME: installation.home },
    },
  )
  expect(stdout.trim()).toMatch(/\/console\/$/)
  expect(stderr).toContain('Sign-in links are disabled')
})
