import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { LocalPlatform } from '../../../src/cli/local/platform.ts'
import { lockHolder } from '../../../src/lock-holder.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

let home: string
let api: Server
beforeEach(async () => {
  home = mkdtempSync(path.join(os.tmpdir(), 'longshore-home-'))
  mkdirSync(path.join(home, 'run'))
  api = createServer((_request, response) => response.end())
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
})
afterEach(() => {
  api.close()
  rmSync(home, { recursive: true, force: true })
})

const lock = (text: string) => writeFileSync(path.join(home, 'run', 'lock'), text)
const wasStarted = () => existsSync(path.join(home, 'run', 'serve.log'))

/** Advances the clock until the promise settles; returns its outcome and the elapsed time. */
async function settled(promise: Promise<string>, clock: TestClock, onStep: (ms: number) => void = () => {}) {
  let outcome: { value?: string; error?: { details?: string } } | null = null
  promise.then(
    (value) => {
      outcome = { value }
    },
    (error) => {
      outcome = { error }
    },
  )
  while (outcome === null) {
    onStep(clock.monotonicMs())
    await clock.advance(50)
    // File and network access happen in real time.
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return outcome as { value?: string; error?: { details?: string } }
}

it('waits for a platform that another process is starting, and starts no second one', async () => {
  const clock = new TestClock()
  lock(String(process.pid))
  expect(lockHolder(home)).toBe(process.pid)
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const platform = new LocalPlatform({ home, command: ['false'], env: process.env, clock })
  const { value } = await settled(platform.ensure(), clock, (ms) => {
    // Later than three failed starts would take.
    if (ms >= 20_000)
      writeFileSync(path.join(home, 'run', 'serve.json'), JSON.stringify({ pid: process.pid, api: url }))
  })
  expect(value).toBe(url)
  expect(wasStarted()).toBe(false)
})

it('names the process that holds the data directory and does not answer', async () => {
  const clock = new TestClock()
  lock(String(process.pid))
  const platform = new LocalPlatform({ home, command: ['false'], env: process.env, clock, startMs: 5_000 })
  const { error } = await settled(platform.ensure(), clock)
  expect(error).toMatchObject({
    message: 'The platform could not be started',
    details: expect.stringContaining(`process ${process.pid} holds ${home}`),
  })
})

it('ignores the lock of an ended process, and of the original of a copied directory', async () => {
  lock('999999999')
  expect(lockHolder(home)).toBeNull()
  lock(`${process.pid}  1:1`)
  expect(lockHolder(home)).toBeNull()
  const clock = new TestClock()
  // A process takes real time to end, and the clock goes on much faster.
  const startMs = 3_600_000
  const platform = new LocalPlatform({ home, command: ['false'], env: process.env, clock, startMs })
  const { error } = await settled(platform.ensure(), clock)
  expect(error?.details).toContain('it ended with code 1; see')
  expect(wasStarted()).toBe(true)
})
