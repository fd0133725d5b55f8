import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createApp, listApps } from '../../../src/contract/apps.ts'
import { Installation } from '../../../testkit/platform/installation.ts'
import { noPostgres, PostgresServer } from '../../../testkit/store/postgres-server.ts'

const entry = path.resolve('dist/longshore.js')
const masterKey = randomBytes(32).toString('hex')
const recoverMs = 60_000

/** The built command with a database; resolves when it ends. */
function command(args: string[], env: NodeJS.ProcessEnv): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [entry, ...args], { env: { PATH: process.env.PATH, ...env } })
  let text = ''
  child.stdout.on('data', (part) => (text += part))
  child.stderr.on('data', (part) => (text += part))
  return new Promise((resolve) => child.once('exit', (code) => resolve({ code, text })))
}

describe.skipIf(noPostgres)(`serve on PostgreSQL${noPostgres ? `: left out, ${noPostgres}` : ''}`, () => {
  let server: PostgresServer
  let installation: Installation
  beforeAll(async () => {
    server = await PostgresServer.start()
  })
  afterAll(() => server.stop())
  afterEach(async () => installation?.dispose())

  async function installed(): Promise<Record<string, string>> {
    const { url } = await server.createDatabase()
    const env = {
      LONGSHORE_DATABASE_URL: url.reveal(),
      LONGSHORE_MASTER_KEY: masterKey,
      LONGSHORE_ENGINE: 'process',
    }
    return env
  }
  const makeApp = (name: string) =>
    installation.client().call(createApp, {
      name,
      accountId: installation.ready.accountId,
      dockerPreset: 'CUSTOM',
      port: 8080,
    })
  const appNames = async () => {
    const { apps } = await installation.client().call(listApps, { accountId: installation.ready.accountId })
    return apps.map(({ name }) => name)
  }
  const readiness = async () => (await fetch(new URL('/readyz', installation.ready.api))).status

  async function readyWithin(ms: number): Promise<number> {
    const startedMs = performance.now()
    while ((await readiness()) !== 200) {
      if (performance.now() - startedMs > ms)
        throw new Error(`not ready within ${ms} ms: ${installation.stderr}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return performance.now() - startedMs
  }

  it('keeps every acknowledged write over kill -9 and over restarts of PostgreSQL in mid-write', async () => {
    installation = new Installation(await installed())
    await installation.start()
    const stored: string[] = []
    let failures = 0
    let isWriting = true
    const writer = async (id: number) => {
      for (let count = 0; isWriting; count += 1) {
        const name = `app-${id}-${count}`
        await makeApp(name).then(
          () => stored.push(name),
          () => {
            failures += 1
            return new Promise((resolve) => setTimeout(resolve, 20))
          },
        )
      }
    }
    const writers = [1, 2, 3, 4].map(writer)
    const some = async (more: number) => {
      const enough = stored.length + more
      while (stored.length < enough) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await some(10)
    for (const signal of ['SIGINT', 'SIGKILL'] as const) {
      await server.halt(signal)
      expect(await readiness()).toBe(503)
      await server.launch()
      await readyWithin(recoverMs)
      await some(10)
    }
    await installation.end('SIGKILL')
    isWriting = false
    await Promise.all(writers)
    await installation.start()
    const names = new Set(await appNames())
    expect(stored.filter((name) => !names.has(name))).toEqual([])
    expect(failures).toBeGreaterThan(0)
    const { code, text } = await command(['audit', 'verify'], { ...(await environment()) })
    expect(text).toContain('The audit log is intact')
    expect(code).toBe(0)
  })

  const environment = async () => ({
    LONGSHORE_HOME: installation.home,
    LONGSHORE_DATABASE_URL: installation.setting('LONGSHORE_DATABASE_URL'),
    LONGSHORE_MASTER_KEY: masterKey,
  })

  it('refuses a second control plane of the same machine with one sentence, and serves on', async () => {
    const env = await installed()
    installation = new Installation(env)
    await installation.start()
    const second = new Installation(env)
    await expect(second.start()).rejects.toThrow(
      /Another control plane serves the machine .+\n.*set LONGSHORE_NODE/,
    )
    await makeApp('one')
    expect(await appNames()).toEqual(['one'])
  })

  it('requires a master key with a database URL', async () => {
    const { LONGSHORE_MASTER_KEY: _, ...env } = await installed()
    installation = new Installation(env)
    await expect(installation.start()).rejects.toThrow('LONGSHORE_DATABASE_URL needs LONGSHORE_MASTER_KEY')
  })

  it('copies an embedded installation with its audit log, and serves the copy', async () => {
    installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_MASTER_KEY: masterKey })
    await installation.start()
    const token = installation.token
    await makeApp('before')
    const { url } = await server.createDatabase()
    const target = { LONGSHORE_MASTER_KEY: masterKey, LONGSHORE_DATABASE_URL: url.reveal() }
    const copy = () => command(['store', 'copy', '--from', installation.home], target)
    expect((await copy()).text).toContain('Another Longshore')
    await installation.end('SIGTERM')
    const done = await copy()
    expect(done.text).toMatch(
      /Copied \d+ rows of \d+ tables. The audit log is whole on both sides \(1 entries\)/,
    )
    expect(done.code).toBe(0)
    const again = await copy()
    expect(again.text).toContain('The target is not empty')
    expect(again.code).toBe(1)
    await installation.start(target)
    expect(installation.token).toBe(token)
    await makeApp('after')
    expect(await appNames()).toEqual(['before', 'after'])
    const audit = await command(['audit', 'verify'], { LONGSHORE_HOME: installation.home, ...target })
    expect(audit.text).toContain('2 entries')
    expect(audit.code).toBe(0)
  })
})
