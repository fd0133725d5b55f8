import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ArchiveLedger, archiveLimits } from '../../../src/builds/archive-ledger.ts'
import { readTar } from '../../../src/builds/tar-reader.ts'
import {
  type ArchiveExtension,
  type UnpackOptions,
  unpackArchive,
} from '../../../src/builds/unpack-archive.ts'
import { EngineFailure } from '../../../src/engines/engine.ts'
import {
  gnuLongName,
  pax,
  type TarEntry,
  tarBytes,
  tgz,
  type ZipEntry,
  zip,
} from '../../../testkit/builds/archives.ts'

let dir: string
let count = 0

beforeEach(async () => {
  dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-unpack-'))
})
afterEach(async () => {
  await rm(dir, { recursive: true, force: true })
})

const into = () => path.join(dir, 'source')

async function unpack(bytes: Buffer, extension: ArchiveExtension, options: Partial<UnpackOptions> = {}) {
  count += 1
  const file = path.join(dir, `upload-${count}${extension}`)
  await writeFile(file, bytes)
  return unpackArchive({ file, extension, into: into(), signal: new AbortController().signal, ...options })
}

/** Unpacks and expects a refusal: nothing may be left, nothing may appear beside the target folder. */
async function refusal(bytes: Buffer, extension: ArchiveExtension, options?: Partial<UnpackOptions>) {
  const before = new Set(await readdir(dir))
  const error = await unpack(bytes, extension, options).then(
    () => undefined,
    (reason: unknown) => reason,
  )
  const added = (await readdir(dir)).filter((name) => !before.has(name) && !name.startsWith('upload-'))
  expect(added).toEqual([])
  expect(error).toBeInstanceOf(EngineFailure)
  expect((error as EngineFailure).reason).toBe('bad archive')
  expect((error as EngineFailure).message).toMatch(/^[A-Z"\\].*[.…]$/)
  return (error as EngineFailure).message
}

async function tree(root = into(), below = ''): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(path.join(root, below), { withFileTypes: true })) {
    const name = path.posix.join(below, entry.name)
    if (entry.isDirectory()) Object.assign(found, { [`${name}/`]: '' }, await tree(root, name))
    else found[name] = await readFile(path.join(root, name), 'utf8')
  }
  return found
}

function foldersInFolders(entries: number, depth: number): TarEntry[] {
  return Array.from({ length: entries }, (_, index) => [
    pax({ path: `${Array.from({ length: depth }, (_, level) => `${index}x${level}`).join('/')}/f` }),
    { name: 'x', content: 'x' },
  ]).flat()
}

const dockerfile = { name: 'Dockerfile', content: 'FROM node:20-alpine\n' }

describe('honest archives', () => {
  it('writes files, folders and the executable bit, and counts them', async () => {
    const bytes = tgz([
      { name: './', type: '5', mode: 0o755 },
      dockerfile,
      { name: './bin/run', content: 'go', mode: 0o4777 },
      { name: 'empty/', type: '5', mode: 0o700 },
      { name: 'zero', content: '', mode: 0o600 },
    ])
    const unpacked = await unpack(bytes, '.tgz')
    expect(unpacked).toEqual({ entries: 5, files: 3, bytes: 22, sourceDir: into() })
    expect(await tree()).toEqual({
      Dockerfile: dockerfile.content,
      'bin/': '',
      'bin/run': 'go',
      'empty/': '',
      zero: '',
    })
    const mode = async (name: string) => (await stat(path.join(into(), name))).mode & 0o7777
    expect(await mode('bin/run')).toBe(0o755)
    expect(await mode('zero')).toBe(0o644)
    expect(await mode('empty')).toBe(0o755)
  })

  it('writes the same from a zip, compressed or stored, with zip64 sizes', async () => {
    const unpacked = await unpack(
      zip([
        dockerfile,
        { name: 'bin/', mode: 0o040755 },
        { name: 'bin/run', content: 'go', mode: 0o104755, stored: true },
        { name: 'from-windows.txt', content: 'hello', mode: 0 },
        { name: 'big.txt', content: 'large '.repeat(9), zip64: true },
      ]),
      '.zip',
    )
    expect(unpacked.files).toBe(4)
    expect(await tree()).toMatchObject({
      'bin/run': 'go',
      'from-windows.txt': 'hello',
      'big.txt': 'large '.repeat(9),
    })
    expect((await stat(path.join(into(), 'bin/run'))).mode & 0o7777).toBe(0o755)
  })

  it('reads long names of both tar dialects', async () => {
    const long = `${'deep/'.repeat(30)}ünïcode ${'n'.repeat(150)}.txt`
    const other = `gnu/${'m'.repeat(180)}`
    const bytes = tgz([
      pax({ path: long, size: '3' }),
      { name: 'short', content: 'pax' },
      gnuLongName(other),
      { name: 'cut', content: 'gnu' },
    ])
    await unpack(bytes, '.tar.gz')
    expect(await tree()).toMatchObject({ [long]: 'pax', [other]: 'gnu' })
  })

  it('takes the only folder as the source when the Dockerfile is in there', async () => {
    const inner = [
      { name: 'repo-main/Dockerfile', content: 'FROM x' },
      { name: 'repo-main/a.js', content: '1' },
    ]
    const unpacked = await unpack(tgz(inner), '.tgz')
    expect(unpacked.sourceDir).toBe(path.join(into(), 'repo-main'))
  })

  it.each([
    ['a file lies beside the folder', [{ name: 'repo/Dockerfile' }, { name: 'README' }], undefined, ''],
    ['the folder has no Dockerfile', [{ name: 'repo/a' }], undefined, ''],
    ['the root has one too', [{ name: 'Dockerfile' }, { name: 'repo/Dockerfile' }], undefined, ''],
    ['no Dockerfile is needed', [{ name: 'repo/Dockerfile' }], null, ''],
    ['the Dockerfile has another place', [{ name: 'repo/deploy/D' }], 'deploy/D', 'repo'],
  ])('source root when %s', async (_title, entries, where, expected) => {
    const files = entries.map((entry) => ({ ...entry, content: 'x' }))
    const unpacked = await unpack(tgz(files), '.tgz', { dockerfile: where })
    expect(unpacked.sourceDir).toBe(path.join(into(), expected))
  })

  it('lets a tiny file of zeros through, whatever its ratio', async () => {
    const unpacked = await unpack(tgz([{ name: 'zeros', content: Buffer.alloc(900_000) }]), '.tgz')
    expect(unpacked.bytes).toBe(900_000)
  })
})

const hostileNames: [string, RegExp][] = [
  ['/etc/passwd', /absolute path/],
  ['../outside', /"\.\."/],
  ['a/../../outside', /"\.\."/],
  ['a/..', /"\.\."/],
  ['C:/windows', /drive letter/],
  ['c:evil', /drive letter/],
  ['a\\..\\b', /backslash/],
  ['new\nline', /control character/],
  ['esc\u001b[31m', /control character/],
  ['gpj\u202egpj.exe', /direction/],
  ['a\u2067b/c', /direction/],
  ['right\u200fto-left', /direction/],
  ['index\u200b.js', /invisible/],
  ['zero\u200dwidth', /invisible/],
  ['tags\u{e0041}\u{e007f}.js', /invisible/],
  ['filler\u3164', /invisible/],
  ['soft\u00adhyphen', /invisible/],
  ['selector\ufe00', /invisible/],
  ['\u2028line', /invisible/],
  ['x'.repeat(300), /too long a name/],
  [`${'d/'.repeat(120)}f`, /too long a path/],
]

describe('names that are refused', () => {
  it.each(hostileNames)('tar %j', async (name, message) => {
    expect(await refusal(tgz([pax({ path: name }), { name: 'x', content: 'x' }]), '.tgz')).toMatch(message)
  })

  it.each(hostileNames)('zip %j', async (name, message) => {
    expect(await refusal(zip([{ name, content: 'x' }]), '.zip')).toMatch(message)
  })

  it('a NUL inside a pax path, and a name that is not UTF-8', async () => {
    expect(await refusal(tgz([pax({ path: 'ok\0/../x' }), { name: 'x' }]), '.tgz')).toMatch(
      /control character/,
    )
    expect(await refusal(zip([{ name: Buffer.from([0x61, 0xff, 0xfe]), content: 'x' }]), '.zip')).toMatch(
      /UTF-8/,
    )
  })

  it('never shows control, direction or invisible characters of a name in the message', async () => {
    for (const path of ['/a\u001b[2J\u202egpj', 'a\u{e0041}\u200b']) {
      const message = await refusal(tgz([pax({ path }), { name: 'x' }]), '.tgz')
      expect(message).not.toMatch(/[\u0000-\u001f\u202e\u200b\u{e0041}]/u)
    }
  })

  it('but not an emoji with its own selector', async () => {
    const unpacked = await unpack(tgz([{ name: '❤\ufe0f.txt', content: 'x' }]), '.tgz')
    expect(unpacked.files).toBe(1)
  })
})

describe('kinds of entries that are refused', () => {
  it.each<[string, TarEntry, RegExp]>([
    ['symbolic link', { name: 'l', type: '2', link: '/etc' }, /symbolic link/],
    ['harmless symbolic link', { name: 'l', type: '2', link: 'a' }, /symbolic link/],
    ['hard link', { name: 'l', type: '1', link: 'a' }, /hard link/],
    ['character device', { name: 'd', type: '3' }, /character device/],
    ['block device', { name: 'd', type: '4' }, /block device/],
    ['fifo', { name: 'p', type: '6' }, /fifo/],
    ['GNU sparse file', { name: 's', type: 'S' }, /unknown/],
    ['multi-volume part', { name: 'm', type: 'M' }, /unknown/],
  ])('tar: %s', async (_title, entry, message) => {
    expect(await refusal(tgz([{ name: 'a', content: 'a' }, entry]), '.tgz')).toMatch(message)
  })

  it('tar: a write through a link is refused at the link', async () => {
    const bytes = tgz([
      { name: 'out', type: '2', link: '..' },
      { name: 'out/escaped', content: 'x' },
    ])
    expect(await refusal(bytes, '.tgz')).toMatch(/symbolic link/)
  })

  it('tar: a sparse file of pax kind', async () => {
    const bytes = tgz([pax({ 'GNU.sparse.major': '1' }), { name: 's', content: 'x' }])
    expect(await refusal(bytes, '.tgz')).toMatch(/sparse/)
  })

  it.each<[string, ZipEntry, RegExp]>([
    ['symbolic link', { name: 'l', content: '/etc', mode: 0o120777 }, /symbolic link/],
    ['fifo', { name: 'p', mode: 0o010644 }, /device, pipe or socket/],
    ['socket', { name: 's', mode: 0o140644 }, /device, pipe or socket/],
    ['encrypted entry', { name: 'e', content: 'x', flags: 0x801 }, /encrypted/],
    ['unknown compression', { name: 'b', content: 'x', method: 12 }, /unknown compression method \(12\)/],
    ['folder mode on a file name', { name: 'f', content: 'x', mode: 0o040755 }, /both a file and a folder/],
    ['file mode on a folder name', { name: 'f/', mode: 0o100644 }, /both a file and a folder/],
  ])('zip: %s', async (_title, entry, message) => {
    expect(await refusal(zip([{ name: 'a', content: 'a' }, entry]), '.zip')).toMatch(message)
  })
})

describe('paths taken twice', () => {
  const cases: [string, { name: string; type?: string; content?: string }[], RegExp][] = [
    ['file over file', [{ name: 'a' }, { name: './a' }], /twice/],
    ['file used as folder', [{ name: 'a' }, { name: 'a/b' }], /as a folder/],
    ['file over folder', [{ name: 'a/b' }, { name: 'a' }], /both a file and a folder/],
    ['folder over file', [{ name: 'a' }, { name: 'a/', type: '5' }], /as a folder/],
  ]
  it.each(cases)('tar: %s', async (_title, entries, message) => {
    expect(await refusal(tgz(entries.map((entry) => ({ ...entry }))), '.tgz')).toMatch(message)
  })
  it.each(cases)('zip: %s', async (_title, entries, message) => {
    const made = entries.map(({ name }) => ({ name, mode: name.endsWith('/') ? 0o040755 : 0o100644 }))
    expect(await refusal(zip(made), '.zip')).toMatch(message)
  })
})

describe('amounts', () => {
  const many = (amount: number) => Array.from({ length: amount }, (_, index) => ({ name: `f${index}` }))

  it('refuses entry 20,001, in tar and zip, and folders that names imply', async () => {
    // The root again and again: counted like any entry, and nothing to write.
    const roots = Array.from({ length: 20_001 }, () => ({ name: './', type: '5' as const }))
    expect(await refusal(tgz(roots), '.tgz')).toMatch(/more than 20,000 entries/)
    expect(await refusal(zip(many(20_001).map((entry) => ({ ...entry, stored: true }))), '.zip')).toMatch(
      /20,000/,
    )
    const deep = Array.from({ length: 10 }, (_, index) => ({ name: `${index}/${'d/'.repeat(20)}f` }))
    const packed = deep.flatMap((entry) => [pax({ path: entry.name }), { name: 'x' }])
    expect(await refusal(tgz(packed), '.tgz', { limits: { maxEntries: 200 } })).toMatch(
      /more than 200 entries/,
    )
  }, 60_000)

  it('takes exactly the allowed number', async () => {
    const unpacked = await unpack(tgz(many(40)), '.tgz', { limits: { maxEntries: 40 } })
    expect(unpacked.entries).toBe(40)
    await rm(into(), { recursive: true })
    expect(await refusal(tgz(many(41)), '.tgz', { limits: { maxEntries: 40 } })).toMatch(/more than 40/)
  })

  it.each<[string, Buffer, ArchiveExtension]>([
    ['files', tgz(many(20_100).map((entry) => ({ ...entry, content: 'x' }))), '.tgz'],
    ['empty entries', tgz(many(200_000)), '.tgz'],
    ['implied folders', tgz(foldersInFolders(300, 99)), '.tgz'],
    ['files of a zip', zip(many(20_100)), '.zip'],
  ])('writes no file of an archive with too many %s', async (_title, bytes, extension) => {
    const refused = refusal(bytes, extension)
    let isOver = false
    let mostWritten = 0
    const watch = (async () => {
      while (!isOver) {
        mostWritten = Math.max(mostWritten, (await readdir(into()).catch(() => [])).length)
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
    expect(await refusal(tgz([zeros]), '.tgz')).toMatch(/200 times/)
    expect(await refusal(zip([zeros]), '.zip')).toMatch(/200 times/)
  })

  it('counts a bomb spread over many entries', async () => {
    const content = Buffer.alloc(1024 * 1024)
    const entries = Array.from({ length: 30 }, (_, index) => ({ name: `z${index}`, content }))
    expect(await refusal(tgz(entries), '.tgz')).toMatch(/200 times/)
    expect(await refusal(zip(entries), '.zip')).toMatch(/200 times/)
  })

  it('stops at the size limit although every header claims less', async () => {
    const limits = { maxBytes: 1024 * 1024, maxRatio: 1e9 }
    const bytes = tgz([
      { name: 'a', content: Buffer.alloc(700_000) },
      { name: 'b', content: Buffer.alloc(700_000) },
    ])
    expect(await refusal(bytes, '.tgz', { limits })).toMatch(/more than 1 MiB/)
    // The zip's headers claim 10 bytes for two megabytes: the stream is cut at what was claimed.
    const liar = zip([{ name: 'a', content: Buffer.alloc(2_000_000), claimedSize: 10 }])
    expect(await refusal(liar, '.zip', { limits })).toMatch(/damaged/)
  })

  it('refuses a size claimed beyond the limit before reading any of it', async () => {
    const bytes = tgz([{ name: 'a', content: 'x', size: 2 * 1024 ** 3 }], { end: false })
    expect(await refusal(bytes, '.tgz')).toMatch(/more than 1024 MiB/)
    const claimed = zip([{ name: 'a', content: 'x', claimedSize: 2 * 1024 ** 3 }])
    expect(await refusal(claimed, '.zip')).toMatch(/more than 1024 MiB/)
  })

  it('refuses an archive made of headers', async () => {
    const padding = pax({ comment: 'x'.repeat(60_000) })
    const bytes = tgz([...Array.from({ length: 75 }, () => padding), { name: 'a', content: 'a' }])
    const limits = { maxOverheadBytes: 2_000_000, maxRatio: 1e9 }
    expect(await refusal(bytes, '.tgz', { limits })).toMatch(/headers/)
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
    expect(await refusal(bytes, '.tgz')).toMatch(/"odd" has an invalid size/)
  })
})

describe('extended headers', () => {
  it('are refused when long, of many records, or malformed', async () => {
    const file = { name: 'a', content: 'a' }
    expect(await refusal(tgz([pax({ comment: 'x'.repeat(70_000) }), file]), '.tgz')).toMatch(/64 KiB/)
    const records = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, 'v']))
    expect(await refusal(tgz([pax(records), file]), '.tgz')).toMatch(/not a valid tar/)
    for (const content of ['9 a=b\n', 'x a=b\n', '6 =bc\n', '5 abc', '99 path=b\n', '6 a=bc'])
      expect(await refusal(tgz([{ name: 'p', type: 'x', content }, file]), '.tgz')).toMatch(/not a valid tar/)
  })

  it('for all entries may not name or measure them', async () => {
    const global = { ...pax({ path: 'b' }), type: 'g' }
    expect(await refusal(tgz([global, { name: 'a', content: 'a' }]), '.tgz')).toMatch(/global header/)
    const comment = { ...pax({ comment: 'a1b2' }), type: 'g' }
    await unpack(tgz([comment, { name: 'a', content: 'a' }]), '.tgz')
    expect(await tree()).toEqual({ a: 'a' })
  })
})

describe('damage and lies', () => {
  it.each(['-1', '1e9', 'NaN', '99999999999999999999', '2', '1025'])('a pax size of %s', async (size) => {
    const bytes = tgz([pax({ size }), { name: 'a', content: 'x'.repeat(1024) }, { name: 'b', content: 'y' }])
    await refusal(bytes, '.tgz')
  })

  it('a truncated gzip, a truncated tar, a broken gzip, a broken header', async () => {
    const whole = tgz([
      { name: 'a', content: Buffer.from(Array.from({ length: 9_000 }, (_, i) => (i * i) % 251)) },
    ])
    expect(await refusal(whole.subarray(0, whole.length - 40), '.tgz')).toMatch(/ends too early/)
    const cut = zlib.gzipSync(tarBytes([{ name: 'a', content: 'x'.repeat(2_000) }]).subarray(0, 1_000))
    expect(await refusal(cut, '.tgz')).toMatch(/ends too early/)
    const broken = Buffer.from(whole)
    broken.fill(0x55, 60, 90)
    await refusal(broken, '.tgz')
    expect(await refusal(zlib.gzipSync(Buffer.alloc(4_096, 'no tar ')), '.tgz')).toMatch(/not a valid tar/)
  })

  it.each<[string, ZipEntry]>([
    ['name', { name: 'good', content: 'x', local: { name: 'evil' } }],
    ['size', { name: 'good', content: 'x', local: { size: 9 } }],
    ['method', { name: 'good', content: 'x', local: { method: 0 } }],
    ['checksum', { name: 'good', content: 'x', local: { crc: 1 } }],
    ['encryption', { name: 'good', content: 'x', local: { flags: 0x801 } }],
  ])('a zip whose two headers differ in %s', async (_what, entry) => {
    expect(await refusal(zip([entry]), '.zip')).toMatch(/contradict/)
  })

  it('zip entries that share their data, or reach into the directory', async () => {
    const content = 'x'.repeat(1_000)
    const shared = zip([
      { name: 'a', content },
      { name: 'a', content, sameDataAs: 0 },
    ])
    expect(await refusal(shared, '.zip')).toMatch(/twice/)
    const folders = zip([
      { name: 'a', content },
      { name: 'b', content, sameDataAs: 0 },
    ])
    expect(await refusal(folders, '.zip')).toMatch(/contradict/)
  })

  it('zip entries of which one lies inside another (the overlap bomb)', async () => {
    const inner = { name: 'b', content: 'x'.repeat(500) }
    const outer = { name: 'a', content: zip([inner]), stored: true }
    const headerAt = 30 + outer.name.length
    expect(await refusal(zip([outer, { ...inner, headerAt }]), '.zip')).toMatch(/"b" overlaps/)
  })

  it('a wrong checksum, a count that lies, a cut file', async () => {
    const wrong = zip([{ name: 'a', content: 'hello', claimedCrc: 7 }])
    expect(await refusal(wrong, '.zip')).toMatch(/damaged \(checksum\)/)
    expect(await refusal(zip([{ name: 'a' }], { claimedCount: 60_000 }), '.zip')).toMatch(/20,000/)
    expect(await refusal(zip([{ name: 'a' }], { claimedCount: 2 }), '.zip')).toMatch(/damaged/)
    const cut = zip([{ name: 'a', content: 'x'.repeat(99) }])
    expect(await refusal(cut.subarray(0, cut.length - 5), '.zip')).toMatch(/ends too early/)
  })

  it('says what a file is when its name claims another type', async () => {
    expect(await refusal(zip([dockerfile]), '.tgz')).toMatch(/is a zip: ask .* \.zip/)
    expect(await refusal(tgz([dockerfile]), '.zip')).toMatch(/is gzip data: ask .* \.tgz/)
    expect(await refusal(Buffer.from('BZh91AY&SY'), '.tgz')).toMatch(/bzip2/)
    expect(await refusal(Buffer.from('hello'), '.tgz')).toMatch(/tar -czf/)
    expect(await refusal(Buffer.alloc(0), '.zip')).toMatch(/empty/)
    expect(await refusal(tgz([{ name: 'only/', type: '5' }]), '.tgz')).toMatch(/no files/)
  })
})

it('an abort ends the work, throws its reason and leaves nothing', async () => {
  const stop = new AbortController()
  const reason = new Error('enough')
  const random = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7_919) % 253))
  const entries = Array.from({ length: 20 }, (_, index) => ({ name: `f${index}`, content: random }))
  const running = unpack(tgz(entries), '.tgz', { signal: stop.signal, limits: { maxRatio: 1e9 } })
  const begun = async () => (await readdir(into()).catch(() => [])).length > 0
  const watch = (async () => {
    while (!(await begun())) await new Promise((resolve) => setImmediate(resolve))
    stop.abort(reason)
  })()
  await expect(running).rejects.toBe(reason)
  await watch
  await expect(stat(into())).rejects.toThrow('ENOENT')
})

it('no entry name ever writes outside (property, tar and zip)', async () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', 'a', 'b', '/', '\\', 'C:', '\0', '~', '...', ' ', 'source', '..\u2044'),
    fc.string({ maxLength: 6, unit: 'binary' }),
  )
  const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((deps) => deps.join('/'))
  const names = fc.array(name, { minLength: 1, maxLength: 5 })
  let written = 0
  await fc.assert(
    fc.asyncProperty(names, fc.boolean(), async (entries, asZip) => {
      await writeFile(path.join(dir, 'witness'), 'untouched')
      const before = (await readdir(dir)).filter((entry) => !entry.startsWith('upload-'))
      const bytes = asZip
        ? zip(entries.map((entry) => ({ name: entry, content: 'x', mode: 0 })))
        : tgz(entries.flatMap((entry) => [pax({ path: entry }), { name: 'x', content: 'x' }]))
      const outcome = await unpack(bytes, asZip ? '.zip' : '.tgz', { dockerfile: null }).catch(
        (error) => error,
      )
      const after = (await readdir(dir)).filter((entry) => !entry.startsWith('upload-') && entry !== 'source')
      expect(after).toEqual(before.filter((entry) => entry !== 'source'))
      expect(await readFile(path.join(dir, 'witness'), 'utf8')).toBe('untouched')
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(EngineFailure)
      else {
        written += 1
        const files = Object.keys(await tree()).filter((entry) => !entry.endsWith('/'))
        expect(files.length).toBe(outcome.files)
      }
      await rm(into(), { recursive: true, force: true })
    }),
    { numRuns: 300 },
  )
  expect(written).toBeGreaterThan(10)
}, 60_000)
