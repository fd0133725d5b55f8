import zlib from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { pax, type TarEntry, tarBytes, tgz, type ZipEntry, zip } from '../../../testkit/builds/archives.ts'
import { UnpackFixture } from '../../../testkit/builds/unpack-fixture.ts'

const fixture = new UnpackFixture()

const dockerfile = { name: 'Dockerfile', content: 'FROM node:20-alpine\n' }

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
    expect(await fixture.refusal(tgz([pax({ path: name }), { name: 'x', content: 'x' }]), '.tgz')).toMatch(
      message,
    )
  })

  it.each(hostileNames)('zip %j', async (name, message) => {
    expect(await fixture.refusal(zip([{ name, content: 'x' }]), '.zip')).toMatch(message)
  })

  it('a NUL inside a pax path, and a name that is not UTF-8', async () => {
    expect(await fixture.refusal(tgz([pax({ path: 'ok\0/../x' }), { name: 'x' }]), '.tgz')).toMatch(
      /control character/,
    )
    const notUtf8 = zip([{ name: Buffer.from([0x61, 0xff, 0xfe]), content: 'x' }])
    expect(await fixture.refusal(notUtf8, '.zip')).toMatch(/UTF-8/)
  })

  it('never shows control, direction or invisible characters of a name in the message', async () => {
    for (const path of ['/a\u001b[2J\u202egpj', 'a\u{e0041}\u200b']) {
      const message = await fixture.refusal(tgz([pax({ path }), { name: 'x' }]), '.tgz')
      expect(message).not.toMatch(/[\u0000-\u001f\u202e\u200b\u{e0041}]/u)
    }
  })

  it('but not an emoji with its own selector', async () => {
    const unpacked = await fixture.unpack(tgz([{ name: '❤\ufe0f.txt', content: 'x' }]), '.tgz')
    expect(unpacked.files).toBe(1)
  })
})

describe('kinds of entries that are refused', () => {
  it.each<[string, TarEntry, RegExp]>([
    ['symbolic link', { name: 'l', type: '2', link: '/etc' }, /symbolic link/],
    [
      'symbolic link above the root',
      { name: 'd/l', type: '2', link: '../../a' },
      /symbolic link that leads out/,
    ],
    ['symbolic link with a backslash', { name: 'l', type: '2', link: 'a\\\\b' }, /symbolic link/],
    ['hard link', { name: 'l', type: '1', link: 'a' }, /hard link/],
    ['character device', { name: 'd', type: '3' }, /character device/],
    ['block device', { name: 'd', type: '4' }, /block device/],
    ['fifo', { name: 'p', type: '6' }, /fifo/],
    ['GNU sparse file', { name: 's', type: 'S' }, /unknown/],
    ['multi-volume part', { name: 'm', type: 'M' }, /unknown/],
  ])('tar: %s', async (_title, entry, message) => {
    expect(await fixture.refusal(tgz([{ name: 'a', content: 'a' }, entry]), '.tgz')).toMatch(message)
  })

  it('tar: a write through a link is refused at the link', async () => {
    const bytes = tgz([
      { name: 'out', type: '2', link: '..' },
      { name: 'out/escaped', content: 'x' },
    ])
    expect(await fixture.refusal(bytes, '.tgz')).toMatch(/symbolic link/)
  })

  it('tar: a sparse file of pax kind', async () => {
    const bytes = tgz([pax({ 'GNU.sparse.major': '1' }), { name: 's', content: 'x' }])
    expect(await fixture.refusal(bytes, '.tgz')).toMatch(/sparse/)
  })

  it.each<[string, ZipEntry, RegExp]>([
    ['symbolic link', { name: 'l', content: '/etc', mode: 0o120777 }, /symbolic link/],
    ['symbolic link above the root', { name: 'l', content: '../x', mode: 0o120777 }, /leads out/],
    ['long symbolic link', { name: 'l', content: 'x'.repeat(5_000), mode: 0o120777 }, /invalid size/],
    ['fifo', { name: 'p', mode: 0o010644 }, /device, pipe or socket/],
    ['socket', { name: 's', mode: 0o140644 }, /device, pipe or socket/],
    ['encrypted entry', { name: 'e', content: 'x', flags: 0x801 }, /encrypted/],
    ['unknown compression', { name: 'b', content: 'x', method: 12 }, /unknown compression method \(12\)/],
    ['folder mode on a file name', { name: 'f', content: 'x', mode: 0o040755 }, /both a file and a folder/],
    ['file mode on a folder name', { name: 'f/', mode: 0o100644 }, /both a file and a folder/],
  ])('zip: %s', async (_title, entry, message) => {
    expect(await fixture.refusal(zip([{ name: 'a', content: 'a' }, entry]), '.zip')).toMatch(message)
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
    expect(await fixture.refusal(tgz(entries.map((entry) => ({ ...entry }))), '.tgz')).toMatch(message)
  })
  it.each(cases)('zip: %s', async (_title, entries, message) => {
    const made = entries.map(({ name }) => ({ name, mode: name.endsWith('/') ? 0o040755 : 0o100644 }))
    expect(await fixture.refusal(zip(made), '.zip')).toMatch(message)
  })
})

describe('damage and lies', () => {
  it.each(['-1', '1e9', 'NaN', '99999999999999999999', '2', '1025'])('a pax size of %s', async (size) => {
    const bytes = tgz([pax({ size }), { name: 'a', content: 'x'.repeat(1024) }, { name: 'b', content: 'y' }])
    await fixture.refusal(bytes, '.tgz')
  })

  it('a truncated gzip, a truncated tar, a broken gzip, a broken header', async () => {
    const whole = tgz([
      { name: 'a', content: Buffer.from(Array.from({ length: 9_000 }, (_, i) => (i * i) % 251)) },
    ])
    expect(await fixture.refusal(whole.subarray(0, whole.length - 40), '.tgz')).toMatch(/ends too early/)
    const cut = zlib.gzipSync(tarBytes([{ name: 'a', content: 'x'.repeat(2_000) }]).subarray(0, 1_000))
    expect(await fixture.refusal(cut, '.tgz')).toMatch(/ends too early/)
    const broken = Buffer.from(whole)
    broken.fill(0x55, 60, 90)
    await fixture.refusal(broken, '.tgz')
    expect(await fixture.refusal(zlib.gzipSync(Buffer.alloc(4_096, 'no tar ')), '.tgz')).toMatch(
      /not a valid tar/,
    )
  })

  it.each<[string, ZipEntry]>([
    ['name', { name: 'good', content: 'x', local: { name: 'evil' } }],
    ['size', { name: 'good', content: 'x', local: { size: 9 } }],
    ['method', { name: 'good', content: 'x', local: { method: 0 } }],
    ['checksum', { name: 'good', content: 'x', local: { crc: 1 } }],
    ['encryption', { name: 'good', content: 'x', local: { flags: 0x801 } }],
  ])('a zip whose two headers differ in %s', async (_what, entry) => {
    expect(await fixture.refusal(zip([entry]), '.zip')).toMatch(/contradict/)
  })

  it('zip entries that share their data, or reach into the directory', async () => {
    const content = 'x'.repeat(1_000)
    const shared = zip([
      { name: 'a', content },
      { name: 'a', content, sameDataAs: 0 },
    ])
    expect(await fixture.refusal(shared, '.zip')).toMatch(/twice/)
    const folders = zip([
      { name: 'a', content },
      { name: 'b', content, sameDataAs: 0 },
    ])
    expect(await fixture.refusal(folders, '.zip')).toMatch(/contradict/)
  })

  it('zip entries of which one lies inside another (the overlap bomb)', async () => {
    const inner = { name: 'b', content: 'x'.repeat(500) }
    const outer = { name: 'a', content: zip([inner]), stored: true }
    const headerAt = 30 + outer.name.length
    expect(await fixture.refusal(zip([outer, { ...inner, headerAt }]), '.zip')).toMatch(/"b" overlaps/)
  })

  it('a wrong checksum, a count that lies, a cut file', async () => {
    const wrong = zip([{ name: 'a', content: 'hello', claimedCrc: 7 }])
    expect(await fixture.refusal(wrong, '.zip')).toMatch(/damaged \(checksum\)/)
    expect(await fixture.refusal(zip([{ name: 'a' }], { claimedCount: 60_000 }), '.zip')).toMatch(/20,000/)
    expect(await fixture.refusal(zip([{ name: 'a' }], { claimedCount: 2 }), '.zip')).toMatch(/damaged/)
    const cut = zip([{ name: 'a', content: 'x'.repeat(99) }])
    expect(await fixture.refusal(cut.subarray(0, cut.length - 5), '.zip')).toMatch(/ends too early/)
  })

  it('says what a file is when its name claims another type', async () => {
    expect(await fixture.refusal(zip([dockerfile]), '.tgz')).toMatch(/is a zip: ask .* \.zip/)
    expect(await fixture.refusal(tgz([dockerfile]), '.zip')).toMatch(/is gzip data: ask .* \.tgz/)
    expect(await fixture.refusal(Buffer.from('BZh91AY&SY'), '.tgz')).toMatch(/bzip2/)
    expect(await fixture.refusal(Buffer.from('hello'), '.tgz')).toMatch(/tar -czf/)
    expect(await fixture.refusal(Buffer.alloc(0), '.zip')).toMatch(/empty/)
    expect(await fixture.refusal(tgz([{ name: 'only/', type: '5' }]), '.tgz')).toMatch(/no files/)
  })
})
