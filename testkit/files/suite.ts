import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Files } from '../../src/files/files.ts'

async function* body(...chunks: (string | Buffer | Error)[]) {
  for (const chunk of chunks) {
    if (chunk instanceof Error) throw chunk
    yield Buffer.from(chunk as string)
  }
}

/**
 * Declares the tests that every adapter of the port passes. `open` gives an empty storage. `writesAtOnce`: false for a server
 * that fails if one file is written several times at once.
 */
export function filesSuite(open: () => Files | Promise<Files>, { writesAtOnce = true } = {}): void {
  let files: Files
  let dir: string
  beforeAll(async () => {
    dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-files-suite-'))
    files = await open()
  })
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  const keys = async (folder: string) => (await files.list(folder)).map(({ key }) => key).sort()
  const read = async (key: string) => {
    const copy = await files.localCopy(key, dir)
    return copy === null ? null : readFileSync(copy)
  }

  it('a file is read as it was written, and as it was written last', async () => {
    await files.put('uploads/a', body('first ', 'version'))
    await files.put('uploads/a', body('second'))
    expect(String(await read('uploads/a'))).toBe('second')
    expect(await files.text('uploads/a')).toBe('second')
  })

  it('a file of several parts keeps every byte', async () => {
    const chunk = Buffer.alloc(1024 ** 2 + 7, 'longshore')
    const chunks = Array.from({ length: 40 }, (_, nth) => Buffer.concat([Buffer.from([nth]), chunk]))
    await files.put('backups/env_1/big.dump', body(...chunks))
    expect((await read('backups/env_1/big.dump'))!.equals(Buffer.concat(chunks))).toBe(true)
    await files.remove('backups/env_1/big.dump')
    expect(await keys('backups')).toEqual([])
  })

  it('a missing file is null, and its removal is no error', async () => {
    expect(await files.localCopy('uploads/none', dir)).toBeNull()
    expect(await files.text('uploads/none')).toBeNull()
    await files.remove('uploads/none')
    await files.remove('none/of/these')
    expect(await files.list('none')).toEqual([])
  })

  it.each([
    ['at once', []],
    ['after some bytes', ['bytes']],
    ['after several parts', Array.from({ length: 40 }, () => Buffer.alloc(1024 ** 2))],
  ])('a body that breaks %s leaves no file, nor changes the one before', async (_when, chunks) => {
    const broken = new Error('the connection is gone')
    await files.put('uploads/before', body('whole'))
    for (const key of ['uploads/new', 'uploads/before'])
      await expect(files.put(key, body(...chunks, broken))).rejects.toBe(broken)
    expect(await files.text('uploads/before')).toBe('whole')
    expect(await files.text('uploads/new')).toBeNull()
    expect(await keys('uploads')).not.toContain('uploads/new')
    await files.remove('uploads/before')
  })

  it('a file is not listed nor read before its last byte is there', async () => {
    const seen: unknown[] = []
    async function* slow() {
      yield Buffer.from('first')
      seen.push(await files.text('slow/a'), await keys('slow'))
      yield Buffer.from('second')
    }
    await files.put('slow/a', slow())
    expect(seen).toEqual([null, []])
    expect(await keys('slow')).toEqual(['slow/a'])
  })

  it('lists a folder with the folders in it and the time of each file, and no folder beside it', async () => {
    for (const key of [
      'logs/env_1/1.jsonl',
      'logs/env_1/requests/1.jsonl',
      'logs/env_2/1.jsonl',
      'logsheet/x',
    ])
      await files.put(key, body(key))
    expect(await keys('logs')).toEqual([
      'logs/env_1/1.jsonl',
      'logs/env_1/requests/1.jsonl',
      'logs/env_2/1.jsonl',
    ])
    expect(await keys('logs/env_1')).toEqual(['logs/env_1/1.jsonl', 'logs/env_1/requests/1.jsonl'])
    const dayMs = 86_400_000
    for (const { modifiedMs } of await files.list('logs'))
      expect(Math.abs(Date.now() - modifiedMs)).toBeLessThan(dayMs)
    await files.remove('logs/env_1/1.jsonl')
    expect(await keys('logs')).toEqual(['logs/env_1/requests/1.jsonl', 'logs/env_2/1.jsonl'])
  })

  it('lists more files than a bucket gives in one answer', async () => {
    const many = Array.from({ length: 1_003 }, (_, nth) => `many/${String(nth).padStart(4, '0')}`)
    for (let from = 0; from < many.length; from += 8)
      await Promise.all(many.slice(from, from + 8).map((key) => files.put(key, body('x'))))
    expect(await keys('many')).toEqual(many)
  })

  it.runIf(writesAtOnce)('writers of one file side by side leave one whole version', async () => {
    const versions = Array.from({ length: 8 }, (_, nth) => String(nth).repeat(100_000))
    await Promise.all(versions.map((version) => files.put('race/a', body(version))))
    expect(versions).toContain(await files.text('race/a'))
    expect(await keys('race')).toEqual(['race/a'])
  })

  it('a copy in a folder that cannot take it is an error, and no short file', async () => {
    await files.put('uploads/copied', body('whole'))
    const blocked = path.join(dir, 'a-file')
    writeFileSync(blocked, '')
    const copy = await files.localCopy('uploads/copied', blocked).catch((error) => error)
    expect(copy instanceof Error || String(readFileSync(copy)) === 'whole').toBe(true)
  })

  it('tidying leaves whole files alone', async () => {
    await files.put('tidy/a', body('a'))
    await files.tidy('tidy')
    await files.tidy('none')
    expect(await keys('tidy')).toEqual(['tidy/a'])
  })
}
