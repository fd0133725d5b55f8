import { mkdirSync, mkdtempSync, renameSync, rmdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LogStore } from '../../../src/files/log-store.ts'

const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-logs-'))
const store = new LogStore(dir)
const nowhere = { type: 'RUNTIME' as const, size: 300, search: 'this stands nowhere' }

beforeAll(() => {
  const message = `a line of ${'x'.repeat(200)}`
  const line = {
    stream: 'stdout' as const,
    type: 'RUNTIME' as const,
    podName: 'pod',
    contentId: 'dep_1',
    message,
  }
  const at = new Date(0).toISOString()
  for (const appEnvId of ['env_a', 'env_b']) {
    store.append(
      appEnvId,
      Array.from({ length: 60_000 }, () => ({ ...line, at })),
    )
  }
})
afterAll(async () => {
  await store.close()
  rmSync(dir, { recursive: true })
})

it('searches of many at once leave room for everything else', async () => {
  await store.read('env_a', { ...nowhere, size: 1, search: '' })
  let rounds = 0
  let over = false
  const other = (async () => {
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve))
      rounds += 1
    }
  })()
  const startedMs = performance.now()
  const readers = Array.from({ length: 10 }, (_, index) => store.read(index % 2 ? 'env_a' : 'env_b', nowhere))
  const pages = await Promise.all(readers)
  const tookMs = performance.now() - startedMs
  over = true
  await other
  expect(pages.every(({ logs }) => logs.length === 0)).toBe(true)
  // A slice of a search is 5 ms; what else is slow on a busy machine is slow for both.
  expect(tookMs / rounds).toBeLessThan(100)
  expect(rounds).toBeGreaterThan(10)
}, 60_000)

it('of one environment they wait for each other, and not without end', async () => {
  const readers = await Promise.allSettled(Array.from({ length: 40 }, () => store.read('env_a', nowhere)))
  const refused = readers.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[]
  expect(refused).toHaveLength(8)
  expect(refused[0]!.reason).toMatchObject({ kind: 'rate-limited', retryAfterSeconds: 2 })
  // Who comes later, and other environments, are served.
  const found = await store.read('env_b', { ...nowhere, search: 'A LINE OF', size: 2 })
  expect(found.logs).toHaveLength(2)
  expect((await store.read('env_a', { ...nowhere, search: 'a line of', size: 2 })).truncated).toBe(true)
}, 60_000)

it('finding the last line of a container leaves room for everything else', async () => {
  let rounds = 0
  let over = false
  const other = (async () => {
    while (!over) {
      await new Promise((resolve) => setImmediate(resolve))
      rounds += 1
    }
  })()
  expect(await store.lastAt('env_a', 'a pod that printed nothing')).toBe(null)
  over = true
  await other
  // 15 MiB are four segments: without turns between lines, there is one for each.
  expect(rounds).toBeGreaterThan(20)
}, 60_000)

it('keeps lines that could not be written, and writes them once, in order', async () => {
  const log = path.join(dir, 'env_c')
  const file = path.join(log, '00000001.jsonl')
  const line = (message: string) => ({
    at: new Date().toISOString(),
    stream: 'stdout' as const,
    type: 'RUNTIME' as const,
    podName: 'pod',
    contentId: null,
    message,
  })
  const messages = async () => {
    const page = await store.read('env_c', { type: 'RUNTIME', size: 10 })
    return page.logs.map(({ message }) => message)
  }
  store.append('env_c', [line('before')])
  expect(await messages()).toEqual(['before'])
  // Appending to a folder fails for every user; a full disk cannot be made here.
  const aside = `${file}.aside`
  renameSync(file, aside)
  mkdirSync(file)
  store.append('env_c', [line('while it fails')])
  await messages()
  rmdirSync(file)
  renameSync(aside, file)
  store.append('env_c', [line('after')])
  await expect.poll(messages, { timeout: 10_000 }).toEqual(['before', 'while it fails', 'after'])
  await store.forget('env_c')
})

it('the newest line is last, whatever the order in which the output of containers was read', async () => {
  const line = (podName: string, ms: number) => ({
    at: new Date(ms).toISOString(),
    ...{ stream: 'stdout' as const, type: 'RUNTIME' as const, podName, contentId: null },
    message: `${ms}`,
  })
  store.append('env_d', [line('a', 1), line('a', 3)])
  store.append('env_d', [line('b', 2), line('b', 4)])
  const { logs } = await store.read('env_d', { type: 'RUNTIME', size: 10 })
  expect(logs.map(({ message }) => message)).toEqual(['1', '2', '3', '4'])
  await store.forget('env_d')
})
