import { lstat, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EngineFailure } from '../../../src/engines/engine.ts'
import { gnuLongName, pax, tgz, zip } from '../../../testkit/builds/archives.ts'
import { UnpackFixture } from '../../../testkit/builds/unpack-fixture.ts'

const fixture = new UnpackFixture()

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
    const unpacked = await fixture.unpack(bytes, '.tgz')
    expect(unpacked).toEqual({ entries: 5, files: 3, bytes: 22, sourceDir: fixture.into() })
    expect(await fixture.tree()).toEqual({
      Dockerfile: dockerfile.content,
      'bin/': '',
      'bin/run': 'go',
      'empty/': '',
      zero: '',
    })
    const mode = async (name: string) => (await stat(path.join(fixture.into(), name))).mode & 0o7777
    expect(await mode('bin/run')).toBe(0o755)
    expect(await mode('zero')).toBe(0o644)
    expect(await mode('empty')).toBe(0o755)
  })

  it('writes the same from a zip, compressed or stored, with zip64 sizes', async () => {
    const unpacked = await fixture.unpack(
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
    expect(await fixture.tree()).toMatchObject({
      'bin/run': 'go',
      'from-windows.txt': 'hello',
      'big.txt': 'large '.repeat(9),
    })
    expect((await stat(path.join(fixture.into(), 'bin/run'))).mode & 0o7777).toBe(0o755)
  })

  it('puts copies in place of links inside the source, also through other links and folders', async () => {
    const unpacked = await fixture.unpack(
      tgz([
        dockerfile,
        { name: 'docs/README.md', type: '2', link: '../README.md' },
        { name: 'README.md', content: 'hello' },
        { name: 'packages/a/lib', type: '2', link: '../shared' },
        { name: 'packages/shared/index.js', content: 'code', mode: 0o755 },
        { name: 'packages/shared/again.js', type: '2', link: 'index.js' },
        { name: 'second', type: '2', link: 'packages/a/lib/again.js' },
      ]),
      '.tgz',
    )
    expect(unpacked.found).toBeUndefined()
    expect(await fixture.tree()).toMatchObject({
      'docs/README.md': 'hello',
      'packages/a/lib/index.js': 'code',
      'packages/a/lib/again.js': 'code',
      'packages/shared/again.js': 'code',
      second: 'code',
    })
    expect((await lstat(path.join(fixture.into(), 'second'))).isFile()).toBe(true)
    expect((await stat(path.join(fixture.into(), 'second'))).mode & 0o777).toBe(0o755)
  })

  it('does the same for a zip', async () => {
    await fixture.unpack(zip([dockerfile, { name: 'l', content: 'Dockerfile', mode: 0o120777 }]), '.zip')
    expect(await fixture.tree()).toMatchObject({ l: dockerfile.content })
  })

  it('reads long targets of links', async () => {
    const long = `${'d'.repeat(120)}/file.txt`
    const link = { name: 'l', type: '2', link: 'd' }
    await fixture.unpack(
      tgz([
        dockerfile,
        { name: 'x' },
        gnuLongName(long),
        { name: 'd', content: 'x' },
        pax({ linkpath: long }),
        link,
      ]),
      '.tgz',
    )
    expect(await fixture.tree()).toMatchObject({ l: 'x' })
  })

  it('leaves out links to nothing and to folders around them, and names them', async () => {
    const unpacked = await fixture.unpack(
      tgz([
        dockerfile,
        { name: 'a/self', type: '2', link: '.' },
        { name: 'a/b/up', type: '2', link: '..' },
        { name: 'a/file', content: 'x' },
        { name: 'gone', type: '2', link: 'nothing' },
        { name: 'one', type: '2', link: 'two' },
        { name: 'two', type: '2', link: 'one' },
      ]),
      '.tgz',
    )
    expect(unpacked.found?.linksLeftOut.sort()).toEqual(['a/b/up', 'a/self', 'gone', 'one', 'two'])
    expect(Object.keys(await fixture.tree()).sort()).toEqual(['Dockerfile', 'a/', 'a/b/', 'a/file'])
  })

  it('refuses folders that link to each other to become very many files', async () => {
    const links = Array.from({ length: 16 }, (_, level) => [
      { name: `d${level}/x`, type: '2', link: `../d${level + 1}` },
      { name: `d${level}/y`, type: '2', link: `../d${level + 1}` },
    ]).flat()
    const bytes = tgz([dockerfile, ...links, { name: 'd16/file', content: 'x' }])
    expect(await fixture.refusal(bytes, '.tgz')).toMatch(/more than 20,000 entries/)
  })

  it('names files of Git LFS', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n'
    const unpacked = await fixture.unpack(tgz([dockerfile, { name: 'big.bin', content: pointer }]), '.tgz')
    expect(unpacked.found?.lfsPointers).toEqual(['big.bin'])
  })

  it.each(['.DS_Store', '._app', '__MACOSX/._app'])(
    'takes the only real folder, beside %s',
    async (clutter) => {
      const bytes = tgz([
        { name: clutter, content: 'x' },
        { name: 'app/Dockerfile', content: 'FROM x' },
      ])
      expect((await fixture.unpack(bytes, '.tgz')).sourceDir).toBe(path.join(fixture.into(), 'app'))
    },
  )

  it('reads long names of both tar dialects', async () => {
    const long = `${'deep/'.repeat(30)}ünïcode ${'n'.repeat(150)}.txt`
    const other = `gnu/${'m'.repeat(180)}`
    const bytes = tgz([
      pax({ path: long, size: '3' }),
      { name: 'short', content: 'pax' },
      gnuLongName(other),
      { name: 'cut', content: 'gnu' },
    ])
    await fixture.unpack(bytes, '.tar.gz')
    expect(await fixture.tree()).toMatchObject({ [long]: 'pax', [other]: 'gnu' })
  })

  it('takes the only folder as the source when the Dockerfile is in there', async () => {
    const inner = [
      { name: 'repo-main/Dockerfile', content: 'FROM x' },
      { name: 'repo-main/a.js', content: '1' },
    ]
    const unpacked = await fixture.unpack(tgz(inner), '.tgz')
    expect(unpacked.sourceDir).toBe(path.join(fixture.into(), 'repo-main'))
  })

  it.each([
    ['a file lies beside the folder', [{ name: 'repo/Dockerfile' }, { name: 'README' }], undefined, ''],
    ['the folder has no Dockerfile', [{ name: 'repo/a' }], undefined, ''],
    ['the root has one too', [{ name: 'Dockerfile' }, { name: 'repo/Dockerfile' }], undefined, ''],
    ['no Dockerfile is needed', [{ name: 'repo/Dockerfile' }], null, ''],
    ['the Dockerfile has another place', [{ name: 'repo/deploy/D' }], 'deploy/D', 'repo'],
  ])('source root when %s', async (_title, entries, where, expected) => {
    const files = entries.map((entry) => ({ ...entry, content: 'x' }))
    const unpacked = await fixture.unpack(tgz(files), '.tgz', { dockerfile: where })
    expect(unpacked.sourceDir).toBe(path.join(fixture.into(), expected))
  })

  it('lets a tiny file of zeros through, whatever its ratio', async () => {
    const unpacked = await fixture.unpack(tgz([{ name: 'zeros', content: Buffer.alloc(900_000) }]), '.tgz')
    expect(unpacked.bytes).toBe(900_000)
  })
})

it('an abort ends the work, throws its reason and leaves nothing', async () => {
  const stop = new AbortController()
  const reason = new Error('enough')
  const random = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7_919) % 253))
  const entries = Array.from({ length: 20 }, (_, index) => ({ name: `f${index}`, content: random }))
  const running = fixture.unpack(tgz(entries), '.tgz', { signal: stop.signal, limits: { maxRatio: 1e9 } })
  const begun = async () => (await readdir(fixture.into()).catch(() => [])).length > 0
  const watch = (async () => {
    while (!(await begun())) await new Promise((resolve) => setImmediate(resolve))
    stop.abort(reason)
  })()
  await expect(running).rejects.toBe(reason)
  await watch
  await expect(stat(fixture.into())).rejects.toThrow('ENOENT')
})

it('no entry name ever writes outside (property, tar and zip)', async () => {
  const part = fc.oneof(
    fc.constantFrom('..', '.', '', 'a', 'b', '/', '\\', 'C:', '\0', '~', '...', ' ', 'source', '..\u2044'),
    fc.string({ maxLength: 6, unit: 'binary' }),
  )
  const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((names) => names.join('/'))
  const names = fc.array(name, { minLength: 1, maxLength: 5 })
  let written = 0
  await fc.assert(
    fc.asyncProperty(names, fc.boolean(), async (entries, asZip) => {
      await writeFile(path.join(fixture.dir, 'witness'), 'untouched')
      const before = (await readdir(fixture.dir)).filter((entry) => !entry.startsWith('upload-'))
      const bytes = asZip
        ? zip(entries.map((entry) => ({ name: entry, content: 'x', mode: 0 })))
        : tgz(entries.flatMap((entry) => [pax({ path: entry }), { name: 'x', content: 'x' }]))
      const outcome = await fixture
        .unpack(bytes, asZip ? '.zip' : '.tgz', { dockerfile: null })
        .catch((error) => error)
      const after = (await readdir(fixture.dir)).filter(
        (entry) => !entry.startsWith('upload-') && entry !== 'source',
      )
      expect(after).toEqual(before.filter((entry) => entry !== 'source'))
      expect(await readFile(path.join(fixture.dir, 'witness'), 'utf8')).toBe('untouched')
      if (outcome instanceof Error) expect(outcome).toBeInstanceOf(EngineFailure)
      else {
        written += 1
        const files = Object.keys(await fixture.tree()).filter((entry) => !entry.endsWith('/'))
        expect(files.length).toBe(outcome.files)
      }
      await rm(fixture.into(), { recursive: true, force: true })
    }),
    { numRuns: 300 },
  )
  expect(written).toBeGreaterThan(10)
}, 60_000)
