import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FolderFiles } from '../../../src/files/folder.ts'
import { OverlaidFiles } from '../../../src/files/overlaid.ts'
import { filesSuite } from '../../../testkit/files/suite.ts'

let dir: string
beforeAll(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-folder-'))
})
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const folder = (name: string, isShared = false) => new FolderFiles(path.join(dir, name), { isShared })
const one = (text: string) =>
  (async function* () {
    yield Buffer.from(text)
  })()

describe('a folder', () => filesSuite(() => folder('suite')))

describe('a folder over the data directory', () =>
  filesSuite(() => new OverlaidFiles(folder('shared', true), folder('home'))))

it('files are private to their owner, and a folder goes with its last file', async () => {
  const files = folder('private')
  await files.put('backups/env_1/a.dump', one('a'))
  const file = path.join(dir, 'private', 'backups', 'env_1', 'a.dump')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
  await files.remove('backups/env_1/a.dump')
  expect(readdirSync(path.join(dir, 'private', 'backups'))).toEqual([])
})

it('a folder goes with a file that was never complete', async () => {
  const files = folder('broken')
  const broken = (async function* () {
    yield Buffer.from('half')
    throw new Error('The copy was ended')
  })()
  await expect(files.put('backups/env_1/a.dump', broken)).rejects.toThrow('ended')
  const backups = path.join(dir, 'broken', 'backups')
  expect(readdirSync(backups)).toEqual([])
  mkdirSync(path.join(backups, 'env_2'))
  writeFileSync(path.join(backups, 'env_2', '.b.00ff.part'), 'of a process that was killed')
  await files.tidy('backups')
  expect(readdirSync(backups)).toEqual([])
})

it('a part of an earlier process goes at once, in a shared folder only when it grows no more', async () => {
  for (const isShared of [false, true]) {
    const files = folder(`parts-${isShared}`, isShared)
    const uploads = path.join(dir, `parts-${isShared}`, 'uploads')
    mkdirSync(uploads, { recursive: true })
    const [fresh, old] = ['.new.00ff.part', '.old.00ff.part'].map((name) => path.join(uploads, name))
    for (const file of [fresh!, old!]) writeFileSync(file, 'half')
    const longAgo = Date.now() / 1000 - 7_200
    utimesSync(old!, longAgo, longAgo)
    let parts = 0
    async function* slow() {
      yield Buffer.from('1')
      await files.tidy('uploads')
      parts = readdirSync(uploads).filter((name) => name.includes('.mine.')).length
    }
    await files.put('uploads/mine', slow())
    expect(parts).toBe(1)
    expect(readdirSync(uploads).sort()).toEqual(isShared ? ['.new.00ff.part', 'mine'] : ['mine'])
  }
})

it('files from before the setting are found, listed once and removed', async () => {
  const [shared, home] = [folder('after', true), folder('before')]
  await home.put('uploads/old', one('old'))
  await home.put('uploads/both', one('old'))
  const files = new OverlaidFiles(shared, home)
  await files.put('uploads/both', one('new'))
  await files.put('uploads/new', one('new'))
  expect(await Promise.all(['old', 'both', 'new'].map((name) => files.text(`uploads/${name}`)))).toEqual([
    'old',
    'new',
    'new',
  ])
  expect((await files.list('uploads')).map(({ key }) => key).sort()).toEqual([
    'uploads/both',
    'uploads/new',
    'uploads/old',
  ])
  for (const name of ['old', 'both']) await files.remove(`uploads/${name}`)
  expect(await files.localCopy('uploads/old', dir)).toBeNull()
  expect(await files.text('uploads/both')).toBeNull()
})

it.each(['', '../x', 'a/../../x', '/etc/x', 'a//b', 'a/./b', 'a\0b'])('refuses the key %j', async (key) => {
  await expect(folder('keys').put(key, one('x'))).rejects.toThrow('Not a key')
})
