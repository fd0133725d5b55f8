import { readdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import zlib from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { ArchiveLedger, archiveLimits } from '../../../src/builds/archive-ledger.ts'
import type { SourceWriter } from '../../../src/builds/source-writer.ts'
import { readTar } from '../../../src/builds/tar-reader.ts'
import type { ArchiveExtension } from '../../../src/builds/unpack-archive.ts'
import { unpackZip } from '../../../src/builds/unpack-zip.ts'
import { pax, type TarEntry, tarBytes, tgz, zip } from '../../../testkit/builds/archives.ts'
import { UnpackFixture } from '../../../testkit/builds/unpack-fixture.ts'

const fixture = new UnpackFixture()

function foldersInFolders(entries: number, depth: number): TarEntry[] {
  return Array.from({ length: entries }, (_, index) => [
    pax({ path: `${Array.from({ length: depth }, (_, level) => `${index}x${level}`).join('/')}/f` }),
    { name: 'x', content: 'x' },
  ]).flat()
}

describe('amounts', () => {
  const many = (amount: number) => Array.from({ length: amount }, (_, index) => ({ name: `f${index}` }))

  it('refuses entry 20,001, in tar and zip, and folders that names imply', async () => {
    // The root again and again: counted like any entry, and nothing to write.
    const roots = Array.from({ length: 20_001 }, () => ({ name: './', type: '5' as const }))
    expect(await fixture.refusal(tgz(roots), '.tgz')).toMatch(/more than 20,000 entries/)
    const stored = many(20_001).map((entry) => ({ ...entry, stored: true }))
    expect(await fixture.refusal(zip(stored), '.zip')).toMatch(/20,000/)
    const deep = Array.from({ length: 10 }, (_, index) => ({ name: `${index}/${'d/'.repeat(20)}f` }))
    const packed = deep.flatMap((entry) => [pax({ path: entry.name }), { name: 'x' }])
    expect(await fixture.refusal(tgz(packed), '.tgz', { limits: { maxEntries: 200 } })).toMatch(
      /more than 200 entries/,
    )
  }, 60_000)

  it('takes exactly the allowed number', async () => {
    const unpacked = await fixture.unpack(tgz(many(40)), '.tgz', { limits: { maxEntries: 40 } })
    expect(unpacked.entries).toBe(40)
    await rm(fixture.into(), { recursive: true })
    expect(await fixture.refusal(tgz(many(41)), '.tgz', { limits: { maxEntries: 40 } })).toMatch(
      /more than 40/,
    )
  })

  it.each<[string, Buffer, ArchiveExtension]>([
    ['files', tgz(many(20_100).map((entry) => ({ ...entry, content: 'x' }))), '.tgz'],
    ['empty entries', tgz(many(200_000)), '.tgz'],
    ['implied folders', tgz(foldersInFolders(300, 99)), '.tgz'],
    ['files of a zip', zip(many(20_100)), '.zip'],
  ])('writes no file of an archive with too many %s', async (_title, bytes, extension) => {
    const refused = fixture.refusal(bytes, extension)
    let isOver = false
    let mostWritten = 0
    const watch = (async () => {
      while (!isOver) {
        mostWritten = Math.max(mostWritten, (await readdir(fixture.into()).catch(() => [])).length)
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    expect(await refused.finally(() => (isOver = true))).toMatch(/more than 20,000 entries/)
    await watch
    expect(mostWritten).toBe(0)
  })

  it('reads no further than the entry that is one too many', async () => {
    let chunks = 0
    const ledger = new ArchiveLedger({ ...archiveLimits, maxEntries: 100 }, 1024 ** 2)
    async function* source() {
      for (const entry of many(10_000)) {
        chunks += 1
        yield tarBytes([entry], { end: false })
      }
    }
    const reading = async () => {
      for await (const { header } of readTar(source())) ledger.place(header.name, 'file', header.size)
    }
    await expect(reading()).rejects.toThrow(/more than 100 entries/)
    expect(chunks).toBe(101)
  })

  it('stops a bomb of zeros by its ratio, early', async () => {
    const zeros = { name: 'zeros', content: Buffer.alloc(64 * 1024 * 1024) }
    expect(await fixture.refusal(tgz([zeros]), '.tgz')).toMatch(/200 times/)
    expect(await fixture.refusal(zip([zeros]), '.zip')).toMatch(/200 times/)
  })

  it('counts a bomb spread over many entries', async () => {
    const content = Buffer.alloc(1024 * 1024)
    const entries = Array.from({ length: 30 }, (_, index) => ({ name: `z${index}`, content }))
    expect(await fixture.refusal(tgz(entries), '.tgz')).toMatch(/200 times/)
    expect(await fixture.refusal(zip(entries), '.zip')).toMatch(/200 times/)
  })

  it('stops at the size limit although every header claims less', async () => {
    const limits = { maxBytes: 1024 * 1024, maxRatio: 1e9 }
    const bytes = tgz([
      { name: 'a', content: Buffer.alloc(700_000) },
      { name: 'b', content: Buffer.alloc(700_000) },
    ])
    expect(await fixture.refusal(bytes, '.tgz', { limits })).toMatch(/more than 1 MiB/)
    // The zip's headers claim 10 bytes for two megabytes: the stream is cut at what was claimed.
    const liar = zip([{ name: 'a', content: Buffer.alloc(2_000_000), claimedSize: 10 }])
    expect(await fixture.refusal(liar, '.zip', { limits })).toMatch(/damaged/)
  })

  it('survives a zip that turns out damaged while the file for it is still being made', async () => {
    const file = path.join(fixture.dir, 'liar.zip')
    await writeFile(file, zip([{ name: 'a', content: Buffer.alloc(2_000_000), claimedSize: 10 }]))
    const slowDisk: SourceWriter = {
      found: { lfsPointers: [], linksLeftOut: [] },
      links: async () => {},
      directory: async () => {},
      async file(_entry, _executable, content) {
        await new Promise((resolve) => setTimeout(resolve, 200))
        for await (const _chunk of content);
      },
    }
    const { signal } = new AbortController()
    const unpacked = unpackZip(file, new ArchiveLedger(archiveLimits, 1000), slowDisk, signal)
    await expect(unpacked).rejects.toThrow(/damaged/)
  })

  it('refuses a size claimed beyond the limit before reading any of it', async () => {
    const bytes = tgz([{ name: 'a', content: 'x', size: 2 * 1024 ** 3 }], { end: false })
    expect(await fixture.refusal(bytes, '.tgz')).toMatch(/more than 1024 MiB/)
    const claimed = zip([{ name: 'a', content: 'x', claimedSize: 2 * 1024 ** 3 }])
    expect(await fixture.refusal(claimed, '.zip')).toMatch(/more than 1024 MiB/)
  })

  it('refuses an archive made of headers', async () => {
    const padding = pax({ comment: 'x'.repeat(60_000) })
    const bytes = tgz([...Array.from({ length: 75 }, () => padding), { name: 'a', content: 'a' }])
    const limits = { maxOverheadBytes: 2_000_000, maxRatio: 1e9 }
    expect(await fixture.refusal(bytes, '.tgz', { limits })).toMatch(/headers/)
  })
})

/** A header whose size field holds these bytes, with a checksum that fits. */
function withSizeField(entry: TarEntry, field: Buffer): Buffer {
  const bytes = tarBytes([entry])
  field.copy(bytes, 124)
  bytes.fill(' ', 148, 156)
  const sum = bytes.subarray(0, 512).reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return zlib.gzipSync(bytes)
}

describe('invalid sizes', () => {
  const fields: [string, Buffer][] = [
    ['negative octal', Buffer.from('-0000000010\0')],
    ['negative base 256', Buffer.concat([Buffer.alloc(10, 0xff), Buffer.from([0xfe, 0x00])])],
    ['base 256 beyond all limits', Buffer.concat([Buffer.from([0x80]), Buffer.alloc(11, 0x7f)])],
  ]
  const extended = pax({ path: 'named-by-pax' }).content!
  it.each(
    fields.flatMap(([title, field]) =>
      ['0', '5', 'x', 'g', 'L'].map((type) => [title, type, field] as const),
    ),
  )('%s, in an entry of type %s', async (_title, type, field) => {
    const bytes = withSizeField({ name: 'odd', type, content: extended }, field)
    expect(await fixture.refusal(bytes, '.tgz')).toMatch(/"odd" has an invalid size/)
  })
})

describe('extended headers', () => {
  it('are refused when long, of many records, or malformed', async () => {
    const file = { name: 'a', content: 'a' }
    expect(await fixture.refusal(tgz([pax({ comment: 'x'.repeat(70_000) }), file]), '.tgz')).toMatch(/64 KiB/)
    const records = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, 'v']))
    expect(await fixture.refusal(tgz([pax(records), file]), '.tgz')).toMatch(/not a valid tar/)
    for (const content of ['9 a=b\n', 'x a=b\n', '6 =bc\n', '5 abc', '99 path=b\n', '6 a=bc'])
      expect(await fixture.refusal(tgz([{ name: 'p', type: 'x', content }, file]), '.tgz')).toMatch(
        /not a valid tar/,
      )
  })

  it('are refused when an entry has too many, before all of them are read', async () => {
    const file = { name: 'a', content: 'a' }
    const many = Array.from({ length: 200 }, () => pax({ comment: 'x' }))
    expect(await fixture.refusal(tgz([...many, file]), '.tgz')).toMatch(/more than 8 extended headers/)
    // Each entry may have some of its own.
    await fixture.unpack(
      tgz(Array.from({ length: 20 }, (_, at) => [pax({ path: `${at}` }), { name: 'x' }]).flat()),
      '.tgz',
    )
    expect(Object.keys(await fixture.tree())).toHaveLength(20)
  })

  it('of a zip have their limit too', async () => {
    const refusal = await fixture.refusal(zip([{ name: 'a', content: 'a', extraBytes: 60_000 }]), '.zip')
    expect(refusal).toMatch(/"a" has more than 4 KiB of extra fields/)
    await fixture.unpack(zip([{ name: 'a', content: 'a', extraBytes: 1_000 }]), '.zip')
    expect(await fixture.tree()).toEqual({ a: 'a' })
  })

  it('for all entries may not name or measure them', async () => {
    const global = { ...pax({ path: 'b' }), type: 'g' }
    expect(await fixture.refusal(tgz([global, { name: 'a', content: 'a' }]), '.tgz')).toMatch(/global header/)
    const comment = { ...pax({ comment: 'a1b2' }), type: 'g' }
    await fixture.unpack(tgz([comment, { name: 'a', content: 'a' }]), '.tgz')
    expect(await fixture.tree()).toEqual({ a: 'a' })
  })
})
