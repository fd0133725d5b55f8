import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { AppError } from '../../../src/errors.ts'
import { FolderFiles } from '../../../src/files/folder.ts'
import { createUploadStore } from '../../../src/files/upload-store.ts'

let home: string
beforeEach(async () => {
  home = await mkdtemp(path.join(os.tmpdir(), 'longshore-uploads-'))
})
afterEach(async () => {
  await rm(home, { recursive: true, force: true })
})

const files = () => readdir(path.join(home, 'uploads')).catch(() => [])

async function* body(...chunks: (string | Buffer | Error)[]) {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk
    yield Buffer.from(chunk as string)
  }
}

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: AppError & NodeJS.ErrnoException) => error,
  )

it('keeps a completely received file and returns its size', async () => {
  const store = createUploadStore({ files: new FolderFiles(home) })
  expect(await store.receive('upl_a.tgz', body('hello ', 'world'), 11)).toBe(11)
  expect(await readFile((await store.fetch('upl_a.tgz', home))!, 'utf8')).toBe('hello world')
  expect(await store.fetch('upl_b.tgz', home)).toBeNull()
  expect(await files()).toEqual(['upl_a.tgz'])
})

it('shows no file before the last byte is there', async () => {
  const store = createUploadStore({ files: new FolderFiles(home) })
  let seen: string[] = []
  async function* slow() {
    yield Buffer.from('first')
    seen = await files()
    yield Buffer.from('second')
  }
  await store.receive('upl_a.zip', slow(), null)
  expect(seen).toHaveLength(1)
  expect(seen).not.toContain('upl_a.zip')
})

it('rejects a body over the limit, declared or not, and keeps nothing', async () => {
  const store = createUploadStore({ files: new FolderFiles(home), limitBytes: 10 })
  let read = false
  async function* watched() {
    read = true
    yield Buffer.from('x')
  }
  expect(await failure(store.receive('upl_a', watched(), 11))).toMatchObject({ kind: 'too-large' })
  expect(read).toBe(false)
  expect(await failure(store.receive('upl_a', body('123456', '78901'), null))).toMatchObject({
    kind: 'too-large',
  })
  expect(await store.receive('upl_a', body('1234567890'), null)).toBe(10)
  expect(await files()).toEqual(['upl_a'])
})

it('refuses an empty or cut body and a broken connection, and keeps nothing', async () => {
  const store = createUploadStore({ files: new FolderFiles(home) })
  expect(await failure(store.receive('upl_a', body(), null))).toMatchObject({ kind: 'invalid' })
  expect(await failure(store.receive('upl_a', body('abc'), 4))).toMatchObject({ kind: 'invalid' })
  const broken = new Error('aborted')
  expect(await failure(store.receive('upl_a', body('abc', broken), null))).toBe(broken)
  expect(await files()).toEqual([])
})

it('says that the disk is full, and keeps nothing', async () => {
  const store = createUploadStore({ files: new FolderFiles(home) })
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  expect(await failure(store.receive('upl_a', body('abc', full), null))).toMatchObject({
    kind: 'unavailable',
    message: 'No space left',
  })
  expect(await files()).toEqual([])
})

it('sweeps unknown files, but not those being received', async () => {
  const store = createUploadStore({ files: new FolderFiles(home) })
  await store.receive('upl_keep.tgz', body('k'), null)
  await store.receive('upl_gone.tgz', body('g'), null)
  await writeFile(path.join(home, 'uploads', '.upl_old.tgz.00ff.part'), 'half')
  let swept = -1
  async function* slow() {
    yield Buffer.from('1')
    swept = await store.sweep(async () => ['upl_keep.tgz'])
    yield Buffer.from('2')
  }
  await store.receive('upl_new.tgz', slow(), null)
  expect(swept).toBe(1)
  expect((await files()).sort()).toEqual(['upl_keep.tgz', 'upl_new.tgz'])
  expect(
    await createUploadStore({ files: new FolderFiles(path.join(home, 'none')) }).sweep(async () => []),
  ).toBe(0)
})

it.each(['', '../x', 'a/b', '.hidden', 'a\0b', 'x.exe', 'x.tgz/..'])('refuses the key %j', async (key) => {
  await expect(createUploadStore({ files: new FolderFiles(home) }).fetch(key, home)).rejects.toThrow(
    'Not a key',
  )
})
