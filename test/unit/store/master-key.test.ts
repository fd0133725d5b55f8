import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Home } from '../../../src/store/data-directory.ts'
import type { Db } from '../../../src/store/db.ts'
import { makeMasterKey, readMasterKey, replaceMasterKey } from '../../../src/store/secrets/master-key.ts'
import { openSecretBox } from '../../../src/store/secrets/secret-box.ts'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'

const at = '2026-03-01T12:00:00.000Z'
let dir: string
let db: Db
let home: Home

beforeEach(async () => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-master-'))
  db = await openSqliteDb(path.join(dir, 'db'))
  home = { masterKey: path.join(dir, 'master-key') } as Home
  await makeMasterKey(db, home)
})
afterEach(async () => {
  await db.close()
  rmSync(dir, { recursive: true })
})

const box = () => openSecretBox(db, readMasterKey(home.masterKey), at)

it.each([
  ['nothing', ''],
  ['a part', 'ab12'],
])('starts after a rotation that was cut off with %s of the new key written', async (_what, text) => {
  const sealed = (await box()).seal('precious', 'row')
  const before = readFileSync(home.masterKey, 'utf8')
  writeFileSync(`${home.masterKey}.new`, text)
  await makeMasterKey(db, home)
  expect(existsSync(`${home.masterKey}.new`)).toBe(false)
  expect(readFileSync(home.masterKey, 'utf8')).toBe(before)
  expect((await box()).open(sealed, 'row')).toBe('precious')
})

it('takes the new key when it was cut off after the data keys were wrapped with it', async () => {
  const sealed = (await box()).seal('precious', 'row')
  const before = readFileSync(home.masterKey, 'utf8')
  await replaceMasterKey(db, home, readMasterKey(home.masterKey))
  const after = readFileSync(home.masterKey, 'utf8')
  writeFileSync(home.masterKey, before)
  writeFileSync(`${home.masterKey}.new`, after)
  await makeMasterKey(db, home)
  expect(readFileSync(home.masterKey, 'utf8')).toBe(after)
  expect((await box()).open(sealed, 'row')).toBe('precious')
})

it('keeps the data directory usable during concurrent rotations and starts', async () => {
  const sealed = (await box()).seal('precious', 'row')
  for (let round = 0; round < 5; round += 1) {
    const from = readMasterKey(home.masterKey)
    const others = await Promise.all([1, 2, 3].map(() => openSqliteDb(path.join(dir, 'db'))))
    const [first, second, start] = await Promise.allSettled([
      replaceMasterKey(others[0]!, home, from),
      replaceMasterKey(others[1]!, home, from),
      makeMasterKey(others[2]!, home),
    ])
    for (const other of others) await other.close()
    expect([first.status, second.status].sort()).toEqual(['fulfilled', 'rejected'])
    expect(start.status).toBe('fulfilled')
    expect(readMasterKey(home.masterKey).equals(from)).toBe(false)
    expect((await box()).open(sealed, 'row')).toBe('precious')
  }
})

it('keeps the next key when the store cannot be read just then', async () => {
  const text = readFileSync(home.masterKey, 'utf8')
  writeFileSync(`${home.masterKey}.new`, text)
  const broken = { ...db, read: unreadable, write: unreadable } as unknown as Db
  await expect(makeMasterKey(broken, home)).rejects.toThrow('disk I/O error')
  expect(readFileSync(`${home.masterKey}.new`, 'utf8')).toBe(text)
})

/** A transaction whose every query fails. */
function unreadable(work: (tx: unknown) => Promise<unknown>): Promise<unknown> {
  const failing: unknown = new Proxy(() => {}, {
    get: (_target, name) =>
      name === 'execute' ? () => Promise.reject(new Error('disk I/O error')) : failing,
    apply: () => failing,
  })
  return work(failing)
}

it('names a damaged key and the remedy', () => {
  writeFileSync(home.masterKey, 'zz')
  expect(() => readMasterKey(home.masterKey)).toThrow(
    expect.objectContaining({
      details: expect.stringMatching(/file master-key in LONGSHORE_HOME.*Restore the original key/),
    }),
  )
})
