import { chmod, mkdir, mkdtemp, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unpackArchive } from '../../../src/builds/unpack-archive.ts'
import { listSource, packSource } from '../../../src/cli/deploy/pack-source.ts'

let dir: string
let root: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-pack-'))
  root = path.join(dir, 'app')
  await mkdir(root)
})
afterEach(async () => {
  await rm(dir, { recursive: true, force: true })
})

async function write(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(root, name)), { recursive: true })
    await writeFile(path.join(root, name), text)
  }
}

const names = async () => (await listSource(root)).files.map((file) => file.path)
const { signal } = new AbortController()

describe('what is listed', () => {
  it('leaves out .git, .longshore and node_modules by default, at any depth', async () => {
    await write({
      Dockerfile: 'FROM x',
      '.git/HEAD': 'x',
      'sub/.git/HEAD': 'x',
      '.longshore/master-key': 'secret',
      'node_modules/a/index.js': 'x',
      'sub/node_modules/b.js': 'x',
      'sub/c.js': 'x',
      '.dockerignore': 'y',
    })
    expect(await names()).toEqual(['.dockerignore', 'Dockerfile', 'sub/c.js'])
  })

  it('lets an ignore file bring node_modules back, but never .git or .longshore', async () => {
    await write({
      '.longshoreignore': '!node_modules\n!.git\n!.longshore\n',
      '.git/HEAD': 'x',
      '.longshore/master-key': 'x',
      'node_modules/a.js': 'x',
    })
    expect(await names()).toEqual(['.longshoreignore', 'node_modules/a.js'])
  })

  it('prefers .longshoreignore and then reads no .gitignore', async () => {
    await write({
      '.longshoreignore': '*.log\n',
      '.gitignore': 'dist\n',
      'dist/app.js': 'x',
      'a.log': 'x',
      'sub/.gitignore': '*.js\n',
      'sub/b.js': 'x',
    })
    const listing = await listSource(root)
    expect(listing.ignoreFile).toBe('.longshoreignore')
    expect(listing.files.map((file) => file.path)).toEqual([
      '.gitignore',
      '.longshoreignore',
      'dist/app.js',
      'sub/.gitignore',
      'sub/b.js',
    ])
  })

  it('follows nested .gitignore files as Git does: the nearest rule wins', async () => {
    await write({
      '.gitignore': '*.log\n/build\nsecret/\n',
      'a.log': 'x',
      'build/x': 'x',
      'sub/.gitignore': '!keep.log\n/build\n',
      'sub/keep.log': 'x',
      'sub/other.log': 'x',
      'sub/build/y': 'x',
      'sub/deeper/build/z': 'x',
      'sub/secret/s': 'x',
      'sub/file-secret': 'x',
    })
    expect(await names()).toEqual([
      '.gitignore',
      'sub/.gitignore',
      'sub/deeper/build/z',
      'sub/file-secret',
      'sub/keep.log',
    ])
  })

  it('skips links and special names, and says why', async () => {
    await write({ a: 'x', 'back\\slash': 'x' })
    await symlink('/etc/passwd', path.join(root, 'link'))
    await symlink('.', path.join(root, 'loop'))
    const listing = await listSource(root)
    expect(listing.files.map((file) => file.path)).toEqual(['a'])
    expect(Object.fromEntries(listing.skipped.map(({ path: name, why }) => [name, why]))).toEqual({
      link: expect.stringContaining('symbolic link'),
      loop: expect.stringContaining('symbolic link'),
      'back\\slash': expect.stringContaining('backslash'),
    })
  })

  it('says what is wrong with an empty folder, a file, and a folder that is not there', async () => {
    await expect(listSource(root)).rejects.toMatchObject({
      message: expect.stringContaining('no files to deploy'),
    })
    await write({ '.gitignore': '*\n', a: 'x' })
    await expect(listSource(root)).rejects.toMatchObject({ details: expect.stringContaining('.gitignore') })
    await expect(listSource(path.join(root, 'a'))).rejects.toMatchObject({
      message: expect.stringContaining('not a folder'),
    })
    await expect(listSource(path.join(root, 'none'))).rejects.toMatchObject({ kind: 'invalid' })
  })
})

describe('the archive', () => {
  it('is accepted by the platform and holds the same files, bytes and executable bits', async () => {
    const big = 'x'.repeat(300_000)
    await write({
      Dockerfile: 'FROM x',
      'bin/run': '#!/bin/sh',
      'empty.txt': '',
      [`${'long/'.repeat(40)}f`]: 'deep',
      big,
    })
    await chmod(path.join(root, 'bin/run'), 0o755)
    const listing = await listSource(root)
    const counts: number[] = []
    const file = path.join(dir, 'source.tgz')
    const packed = await packSource(listing, file, { signal, onFile: (count) => counts.push(count) })
    expect(packed.bytes).toBe((await stat(file)).size)
    expect(counts).toEqual([1, 2, 3, 4, 5])
    const into = path.join(dir, 'out')
    const unpacked = await unpackArchive({ file, extension: '.tgz', into, signal })
    expect(unpacked).toMatchObject({ files: 5, bytes: listing.bytes, sourceDir: into })
    expect((await listSource(into)).files).toEqual(listing.files)
  })

  it('is the same for the same source', async () => {
    await write({ a: '1', b: '2' })
    const once = await packSource(await listSource(root), path.join(dir, '1.tgz'), { signal })
    const again = await packSource(await listSource(root), path.join(dir, '2.tgz'), { signal })
    expect(again.bytes).toBe(once.bytes)
  })

  it('copes with a file that grows, and says so of one that shrinks', async () => {
    await write({ a: 'y'.repeat(5_000), log: 'x'.repeat(5_000) })
    const listing = await listSource(root)
    await writeFile(path.join(root, 'log'), 'x'.repeat(90_000))
    await packSource(listing, path.join(dir, 'grown.tgz'), { signal })
    await truncate(path.join(root, 'log'), 10)
    await expect(packSource(listing, path.join(dir, 'cut.tgz'), { signal })).rejects.toMatchObject({
      message: '"log" cannot be packed',
      details: expect.stringContaining('changed while'),
    })
  })

  it('refuses more than the platform takes, naming the heaviest part', async () => {
    await write({ 'data/blob': 'x', Dockerfile: 'FROM x' })
    const listing = await listSource(root)
    const blob = listing.files.find((file) => file.path === 'data/blob')!
    blob.bytes = 2 * 1024 ** 3
    await expect(
      packSource({ ...listing, bytes: blob.bytes }, path.join(dir, 'x'), { signal }),
    ).rejects.toMatchObject({
      kind: 'too-large',
      details: expect.stringContaining('"data/"'),
    })
    const many = Array.from({ length: 20_001 }, (_, index) => ({ ...blob, bytes: 1, path: `m/${index}` }))
    await expect(
      packSource({ ...listing, files: many, bytes: 20_001 }, path.join(dir, 'x'), { signal }),
    ).rejects.toMatchObject({ kind: 'too-large', details: expect.stringContaining('20,000') })
  })

  it('stops when its signal aborts', async () => {
    await write({ a: 'x' })
    const reason = new Error('stop')
    const stopped = AbortSignal.abort(reason)
    await expect(packSource(await listSource(root), path.join(dir, 'x'), { signal: stopped })).rejects.toBe(
      reason,
    )
  })
})
