import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Header, pack } from 'tar-stream'
import { describe, expect, it, onTestFinished } from 'vitest'
import { folderCopies } from '../../../src/engines/process/volume-copies.ts'
import { checkedTar, eachEntry } from '../../../src/engines/volume-tar.ts'
import { removeFolder } from '../../../testkit/remove-folder.ts'

type Given = Partial<Header> & { name: string }

function tarOf(...entries: Given[]): Promise<Buffer> {
  const tar = pack()
  for (const entry of entries) tar.entry(entry, entry.type === undefined ? 'text' : '')
  tar.finalize()
  return buffer(tar as AsyncIterable<Buffer>)
}
const checked = async (...entries: Given[]) => buffer(checkedTar(Readable.from([await tarOf(...entries)])))

const out: Given = { name: 'out', type: 'symlink', linkname: '/tmp' }
const hostile: [string, Given[]][] = [
  ['leaves the volume', [{ name: './a/../../b' }]],
  ['has an absolute path', [{ name: '/etc/passwd' }]],
  ['is below a link or a file', [out, { name: 'out/b' }]],
  ['is below a link or a file', [out, { name: './out/a/b', type: 'directory' }]],
  ['is there twice', [out, { name: 'out' }]],
  ['is there twice', [{ name: 'a' }, { ...out, name: './a' }]],
  ['leaves the volume', [{ name: 'a', type: 'link', linkname: '../../etc/shadow' }]],
  ['is a hard link to no file before it', [out, { name: 'a', type: 'link', linkname: 'out' }]],
  ['is below a link or a file', [out, { name: 'a', type: 'link', linkname: 'out/passwd' }]],
  ['has a name that is not UTF-8', [{ name: 'a\ufffd' }]],
  ['is below a link or a file', [{ name: 'a' }, { name: 'a/b/c' }]],
  ['is there twice', [{ name: 'a/b/c' }, { ...out, name: 'a' }]],
  ['is more than 256 folders deep', [{ name: `${'a/'.repeat(300)}b` }]],
  ['has a name of more than 4096 characters', [{ name: 'a'.repeat(5_000) }]],
]

describe('the tar of a volume', () => {
  it.each(hostile)('%s: refused', async (why, entries) => {
    await expect(checked(...entries)).rejects.toThrow(why)
  })

  it('keeps links that lead anywhere, hard links and folders that come twice; leaves out devices', async () => {
    const tar = await checked(
      { name: './', type: 'directory' },
      { name: './a', type: 'directory' },
      { name: 'a/b' },
      { name: 'a/', type: 'directory' },
      { name: 'c', type: 'link', linkname: './a/b' },
      { name: 'pipe', type: 'fifo' },
      { name: 'null', type: 'character-device' },
      { ...out, name: 'up', linkname: '../..' },
    )
    const found: unknown[] = []
    await eachEntry(Readable.from([tar]), async ({ name, type, linkname }) => {
      found.push([name, type, linkname])
    })
    expect(found).toEqual([
      ['', 'directory', null],
      ['a', 'directory', null],
      ['a/b', 'file', null],
      ['a', 'directory', null],
      ['c', 'link', 'a/b'],
      ['up', 'symlink', '../..'],
    ])
  })

  it('keeps names that are not ASCII, below the folder where they are restored, whatever records the source has', async () => {
    const given = await tarOf(
      { name: 'résumés/größe.txt' },
      { name: 'résumés/ü', type: 'link', linkname: 'résumés/größe.txt' },
      { name: 'plain', pax: { path: 'plain', 'SCHILY.xattr.user.note': 'kept', comment: 'gone' } },
    )
    const copy = await buffer(checkedTar(Readable.from([given])))
    const restored = await buffer(checkedTar(Readable.from([copy]), { folder: 'mnt/data/' }))
    const found: unknown[] = []
    await eachEntry(Readable.from([restored]), async ({ name, linkname, pax }) => {
      const { 'SCHILY.xattr.user.note': note, comment } = (pax ?? {}) as Record<string, string>
      found.push([name, linkname, note, comment])
    })
    expect(found).toEqual([
      ['mnt/data/résumés/größe.txt', null, undefined, undefined],
      ['mnt/data/résumés/ü', 'mnt/data/résumés/größe.txt', undefined, undefined],
      ['mnt/data/plain', null, 'kept', undefined],
    ])
  })

  it('of 20,000 files 250 folders deep is checked in the time of one look at each', async () => {
    const deep = 'a/'.repeat(250)
    const tar = pack()
    for (let nth = 0; nth < 20_000; nth += 1) tar.entry({ name: `${deep}${nth}` }, '')
    tar.finalize()
    const before = process.cpuUsage()
    let seen = 0
    await eachEntry(tar as AsyncIterable<Buffer>, async () => {
      seen += 1
    })
    expect(seen).toBe(20_000)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(10_000)
  })

  it('of the process engine names a file whose name is not UTF-8: it would be left out', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'longshore-volume-'))
    onTestFinished(() => removeFolder(dir))
    const volume = path.join(dir, 'env_1', 'data')
    await mkdir(volume, { recursive: true })
    await writeFile(Buffer.concat([Buffer.from(`${volume}/a`), Buffer.from([0xff])]), 'lost')
    const spec = {
      ...{ appEnvId: 'env_1', accountId: 'acc_1', envName: 'app-prod', image: '' },
      mount: { volume: 'data', path: '/data' },
    }
    const copy = folderCopies(dir).dump(spec, new AbortController().signal)
    await expect(buffer(copy)).rejects.toThrow('has a name that is not UTF-8')
  })

  it('that ends early is no tar', async () => {
    const tar = await tarOf({ name: 'a' })
    await expect(buffer(checkedTar(Readable.from([tar.subarray(0, 514)])))).rejects.toThrow('end of data')
  })

  it('that is hostile or cut off leaves a volume of the process engine, and all beside it, as it was', async () => {
    const dir = mkdtempSync(path.join(tmpdir(), 'longshore-volume-'))
    onTestFinished(() => removeFolder(dir))
    const volume = path.join(dir, 'env_1', 'data')
    await mkdir(volume, { recursive: true })
    await writeFile(path.join(volume, 'note'), 'kept')
    const spec = {
      ...{ appEnvId: 'env_1', accountId: 'acc_1', envName: 'app-prod', image: '' },
      mount: { volume: 'data', path: '/data' },
    }
    const load = async (tar: Buffer) =>
      folderCopies(dir).load(spec, Readable.from([tar]), new AbortController().signal)
    const beside = { ...out, linkname: dir }
    await expect(load(await tarOf({ name: 'new' }, beside, { name: 'out/hit' }))).rejects.toThrow(
      'below a link',
    )
    await expect(load((await tarOf({ name: 'new' })).subarray(0, 514))).rejects.toThrow()
    expect(readFileSync(path.join(volume, 'note'), 'utf8')).toBe('kept')
    expect(existsSync(path.join(dir, 'hit'))).toBe(false)
    expect(existsSync(`${volume}.next`)).toBe(false)
    // What a program that was killed left behind is no obstacle.
    await mkdir(`${volume}.next/half`, { recursive: true })
    await mkdir(`${volume}.old`)
    await load(await tarOf({ name: 'new' }))
    expect(existsSync(path.join(volume, 'note'))).toBe(false)
    expect(readFileSync(path.join(volume, 'new'), 'utf8')).toBe('text')
  })
})
