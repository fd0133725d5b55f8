import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import type { Files } from '../../../src/files/files.ts'
import { FolderFiles } from '../../../src/files/folder.ts'
import { LogArchive } from '../../../src/files/log-archive.ts'
import { LogStore } from '../../../src/files/log-store.ts'

const away = new AppError('unavailable', 'The file storage does not answer')
const appEnvId = 'env_a'
const segmentBytes = 4_000
/** So many lines fill a segment. */
const linesOfSegment = 5

let dir: string
let files: FolderFiles
let isAway: boolean
/** The folder as a storage that can be away. */
const storage = new Proxy({} as Files, {
  get:
    (_target, name: keyof Files) =>
    async (...args: never[]) => {
      if (isAway) throw away
      return (files[name] as (...all: never[]) => unknown)(...args)
    },
})

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-log-archive-'))
  files = new FolderFiles(path.join(dir, 'bucket'))
  isAway = false
})
afterEach(() => rmSync(dir, { recursive: true }))

const machine = async (home: string, node = 'north') =>
  new LogStore(path.join(dir, home), { archive: await LogArchive.open(storage, node), segmentBytes })
const filesOf = (home: string, env = appEnvId) =>
  readdirSync(path.join(dir, home, env)).filter((name) => name.endsWith('.jsonl'))
const copies = async (node = 'north') =>
  (await files.list(`kept-logs/${node}`)).map(({ key }) => key.slice(`kept-logs/${node}/`.length)).sort()

let written = 0
/** Appends lines `line 1`, `line 2`, …, so many and long that `segments` are full. */
async function fill(store: LogStore, segments: number): Promise<void> {
  for (let done = 0; done < segments; done += 1) {
    append(store, linesOfSegment, 'x'.repeat(900))
    await store.lastAt(appEnvId, 'none')
  }
}
function append(store: LogStore, lines: number, padding = '', type: 'RUNTIME' | 'REQUEST' = 'RUNTIME'): void {
  const line = { stream: 'stdout', type, podName: 'pod', contentId: null } as const
  store.append(
    appEnvId,
    Array.from({ length: lines }, () => {
      written += 1
      return { ...line, at: new Date(written * 1000).toISOString(), message: `line ${written}.${padding}` }
    }),
  )
}
/** The numbers of all lines, page by page, oldest first. */
async function readAll(store: LogStore): Promise<number[]> {
  const found: number[] = []
  let cursor: string | undefined
  do {
    const page = await store.read(appEnvId, { type: 'RUNTIME', size: 7, ...(cursor ? { cursor } : {}) })
    found.unshift(...page.logs.map(({ message }) => Number(/^line (\d+)/.exec(message)?.[1])))
    cursor = page.cursor ?? undefined
  } while (cursor)
  return found
}
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, nth) => first + nth)

it('older segments are in the archive alone, and a page reads on there', async () => {
  written = 0
  const store = await machine('home')
  await fill(store, 7)
  append(store, 1, '', 'REQUEST')
  await store.copy()
  expect(filesOf('home')).toHaveLength(5)
  expect(await copies()).toEqual([
    ...upTo(7).map((number) => `env_a/0000000${number}.jsonl`),
    'env_a/requests/00000001.jsonl',
  ])
  expect(await readAll(store)).toEqual(upTo(7 * linesOfSegment))
  await store.close()
})

it('the newest segment is copied again as it grows, and a new disk continues after the copies', async () => {
  written = 0
  const old = await machine('old')
  append(old, 3)
  await old.copy()
  append(old, 2)
  await old.close(5_000)
  append(old, 1) // Lost with the disk.
  const replaced = await machine('new')
  append(replaced, 1)
  expect(await readAll(replaced)).toEqual([1, 2, 3, 4, 5, 7])
  await replaced.copy()
  expect(await copies()).toEqual(['env_a/00000001.jsonl', 'env_a/00000002.jsonl'])
  // Another machine has its own.
  expect(await readAll(await machine('other', 'south'))).toEqual([])
  await Promise.all([old.close(), replaced.close()])
})

it('an archive that is away fails what needs it with the remedy, and nothing else', async () => {
  written = 0
  const store = await machine('home')
  await fill(store, 6)
  await store.copy()
  isAway = true
  append(store, 10)
  await expect(readAll(store)).rejects.toBe(away)
  const newest = await store.read(appEnvId, { type: 'RUNTIME', size: 10 })
  expect(newest.logs.at(-1)?.message).toBe(`line ${written}.`)
  await expect(store.copy()).rejects.toBe(away)
  // No line waits for it, and the log keeps to its limit.
  await fill(store, 17)
  expect(filesOf('home')).toHaveLength(16)
  await store.close(5_000)
  isAway = false
  await store.copy()
  expect(await copies()).toHaveLength(16)
  expect((await readAll(store)).at(-1)).toBe(written)
  await store.close()
})

it('a pod without lines on this machine is followed from the first of those that are there', async () => {
  written = 0
  const store = await machine('home')
  await fill(store, 6)
  await store.copy()
  isAway = true
  const at = new Date((linesOfSegment + 1) * 1000).toISOString()
  expect(await store.lastAt(appEnvId, 'quiet')).toBe(at)
  expect(await store.lastAt(appEnvId, 'pod')).toBe(new Date(written * 1000).toISOString())
  await store.close()
})

it('copies of a deleted environment, and old ones, are removed', async () => {
  written = 0
  const store = await machine('home')
  append(store, 1)
  await store.copy()
  await store.forget(appEnvId)
  expect(await copies()).toEqual([])
  append(store, 1)
  await store.copy()
  isAway = true
  await store.forget(appEnvId)
  isAway = false
  const findKnown = async (ids: readonly string[]) => ids.filter((id) => id === 'env_b')
  await files.put('kept-logs/north/env_b/00000001.jsonl', (async function* () {})())
  expect(await copies()).toHaveLength(2)
  await store.sweep(Date.now(), findKnown)
  expect(await copies()).toEqual(['env_b/00000001.jsonl'])
  await store.sweep(Date.now() + 8 * 86_400_000, findKnown)
  expect(await copies()).toEqual([])
})

it('control planes that take turns overwrite nothing of each other, also what was not copied', async () => {
  written = 0
  const openIn = async (home: string, firstSegment: number) =>
    new LogStore(path.join(dir, home), {
      archive: await LogArchive.open(storage, 'region:eu'),
      ...{ segmentBytes, firstSegment },
    })
  const alder = await openIn('alder', 100)
  append(alder, 2)
  await alder.copy()
  append(alder, 1)
  // Killed: its last line is on its own disk only.
  await alder.close()
  const birch = await openIn('birch', 200)
  expect(await birch.lastAt(appEnvId, 'pod')).toBe(new Date(2_000).toISOString())
  expect(await readAll(birch)).toEqual([1, 2])
  // It reads line 3 once more from the container, which still runs.
  written = 2
  append(birch, 2)
  await birch.close(5_000)
  const again = await openIn('alder', 300)
  expect(await readAll(again)).toEqual([1, 2, 3, 4])
  append(again, 1)
  await again.close(5_000)
  const last = await openIn('birch', 400)
  expect(await readAll(last)).toEqual([1, 2, 3, 4, 5])
  await last.close()
})
