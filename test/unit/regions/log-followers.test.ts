import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { LogStore } from '../../../src/files/log-store.ts'
import { createLog } from '../../../src/log.ts'
import { LogFollowers } from '../../../src/regions/logs/followers.ts'
import { deferred } from '../../../testkit/deferred.ts'

const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-followers-'))
const store = new LogStore(dir)
afterAll(async () => {
  await store.close()
  rmSync(dir, { recursive: true })
})

const lines = 4_000

/** Everything at once, as from a program that prints as fast as it can. */
async function* flood() {
  for (let at = 0; at < lines; at += 1)
    yield { timestamp: new Date(at).toISOString(), stream: 'stdout' as const, message: `line ${at}` }
}

it('a program that prints as fast as it can leaves room for everything else', async () => {
  let masked = 0
  let before = 0
  let most = 0
  let isOver = false
  const round = () => {
    most = Math.max(most, masked - before)
    before = masked
    if (!isOver) setImmediate(round)
  }
  const mask = (line: string) => {
    masked += 1
    return line
  }
  const followers = new LogFollowers(store, { of: async () => mask } as never, createLog('test', 'silent'))
  round()
  const pod = { appEnvId: 'env_1', podName: 'pod', containerName: 'one', contentId: 'dep_1' }
  followers.follow({ logs: () => flood() }, { ...pod, type: 'RUNTIME', origin: { rolloutId: 'rol_1' } })
  await followers.finish('one', 60_000)
  await new Promise((resolve) => setImmediate(resolve))
  isOver = true
  expect(masked).toBe(lines)
  expect(most).toBeLessThan(300)
})

it('keeps lines that an engine sends later than the wait for them', async () => {
  const mask = (line: string) => line
  const followers = new LogFollowers(store, { of: async () => mask } as never, createLog('test', 'silent'))
  const late = deferred<void>()
  async function* slow() {
    await late.promise
    yield { timestamp: new Date(0).toISOString(), stream: 'stdout' as const, message: 'the last line' }
  }
  const pod = { appEnvId: 'env_2', podName: 'pod', containerName: 'two', contentId: 'dep_1' }
  followers.follow({ logs: () => slow() }, { ...pod, type: 'JOB', origin: { jobRunId: 'run_1' } })
  await followers.ended('two', 1)
  late.resolve()
  await followers.ended('two', 60_000)
  const { logs } = await store.read('env_2', { type: 'JOB', size: 10 })
  expect(logs.map(({ message }) => message)).toEqual(['the last line'])
})
