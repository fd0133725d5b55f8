// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of Dockerfiles
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { unpackArchive } from '../../../src/builds/unpack-archive.ts'
import { refuseOthersImages } from '../../../src/engines/docker/cross-tenant-image-guard.ts'
import { secretsTaken } from '../../../src/engines/docker/secrets.ts'
import { parseDockerignore } from '../../../src/engines/dockerfile/dockerignore.ts'
import { checkExpansion } from '../../../src/engines/dockerfile/expansion-check.ts'
import { parseDockerfile } from '../../../src/engines/dockerfile/parse.ts'
import { refuseRemoteAdd } from '../../../src/engines/dockerfile/remote-add.ts'
import { EngineFailure } from '../../../src/engines/engine.ts'
import { ErrorExcerpt } from '../../../src/engines/error-excerpt.ts'
import { gnuLongName, pax, type TarEntry, tgz } from '../../../testkit/builds/archives.ts'

/**
 * What a tenant writes may hold the event loop for 50 ms at most. CPU time is measured, which other programs on the
 * machine do not add to, and twenty times as much is allowed: the mistakes this looks for take seconds or more.
 */
const mostCpuMs = 1_000
const seed = 20_240_611

let longest = { what: '', ms: 0 }

/** Runs it synchronously; refusals are fine, anything else is not. */
function bounded(what: string, act: () => unknown): void {
  const before = process.cpuUsage()
  try {
    act()
  } catch (error) {
    expect(error, what).toBeInstanceOf(EngineFailure)
  }
  const { user, system } = process.cpuUsage(before)
  const ms = (user + system) / 1000
  if (ms > longest.ms) longest = { what, ms }
  expect(ms, what).toBeLessThan(mostCpuMs)
}

const pieces = fc.constantFrom(
  ...'ARG|ENV|FROM|COPY|ADD|RUN|LABEL|ONBUILD|WORKDIR|--from=|<<E|E|a=b|a|A=|$A|${A:-|}|"|\'|[|]|["|",|\\|\\\\|#|# escape=`|`|\n|\n| |  |\t|{|:|http:|\u0085|é|=|/x|*|**|?|!|[a-|\r\n'.split(
    '|',
  ),
)
/** A few pieces, again and again up to 64 KiB, with a beginning and an end of their own. */
const longText = fc
  .tuple(
    fc.array(pieces, { maxLength: 8 }),
    fc.array(pieces, { minLength: 1, maxLength: 6 }),
    fc.array(pieces, { maxLength: 4 }),
  )
  .map(([begin, again, end]) => {
    const unit = again.join('')
    return ['FROM a\n', ...begin, unit.repeat(Math.floor(65_000 / unit.length)), ...end].join('')
  })

it('reading any Dockerfile takes bounded time', async () => {
  const texts = fc.sample(longText, { numRuns: 150, seed })
  const spec = { buildArgs: { A: 'x'.repeat(60_000), B: 'secret' }, secretBuildArgs: ['secret'] }
  for (const text of texts) {
    const short = JSON.stringify(text.slice(0, 80))
    const cut = text.slice(0, 60_000)
    bounded(`parse ${short}`, () => parseDockerfile(cut))
    bounded(`others' images ${short}`, () => refuseOthersImages(cut, spec.buildArgs))
    bounded(`remote ADD ${short}`, () => refuseRemoteAdd(cut))
    bounded(`secrets ${short}`, () => secretsTaken(spec, cut))
    const before = process.cpuUsage()
    const base = { env: new Map(), triggers: [] }
    const failure = await checkExpansion(cut, spec.buildArgs, async () => base).catch((error) => error)
    expect(process.cpuUsage(before).user / 1000, `expansion ${short}`).toBeLessThan(mostCpuMs)
    if (failure !== undefined) expect(failure, short).toBeInstanceOf(EngineFailure)
  }
  console.info(`longest: ${longest.ms.toFixed(0)} ms of CPU, ${longest.what}`)
}, 300_000)

it('matching any path with any .dockerignore takes bounded time', async () => {
  longest = { what: '', ms: 0 }
  const line = fc.array(
    fc.constantFrom('*', '**', 'a', '?', '[a-z]', '[^b]', '/', '\\', '!', 'aaaaaaaa', '..'),
    {
      minLength: 1,
      maxLength: 60,
    },
  )
  const ignores = fc.sample(fc.tuple(fc.array(line, { minLength: 1, maxLength: 12 }), fc.nat(2_000)), {
    numRuns: 150,
    seed,
  })
  const paths = ['a'.repeat(255), `${'a/'.repeat(100)}a`, `${`${'a'.repeat(19)}/`.repeat(99)}b`, 'a/b/c.txt']
  for (const [lines, times] of ignores) {
    const unit = `${lines.map((words) => words.join('')).join('\n')}\n`
    const text = unit.repeat(Math.max(1, Math.min(times, Math.floor(60_000 / unit.length))))
    const short = JSON.stringify(text.slice(0, 80))
    bounded(`read ${short}`, () => parseDockerignore(text))
    for (const one of paths) {
      const before = process.cpuUsage()
      const matching = async () => parseDockerignore(text).isIgnored(one)
      const failure = await matching().catch((error: unknown) => error)
      expect(process.cpuUsage(before).user / 1000, `match ${short}`).toBeLessThan(mostCpuMs)
      if (typeof failure === 'object') expect(failure, short).toBeInstanceOf(EngineFailure)
    }
  }
  console.info(`longest: ${longest.ms.toFixed(0)} ms of CPU, ${longest.what}`)
}, 300_000)

it('reading any line of a build log takes bounded time', () => {
  longest = { what: '', ms: 0 }
  const word = fc.constantFrom(
    'npm error ',
    ' ',
    '\t',
    'error',
    'warn',
    'usage:',
    '--',
    'a',
    'no ',
    '0 ',
    '\u001b[91m',
  )
  for (const words of fc.sample(fc.array(word, { minLength: 1, maxLength: 5 }), { numRuns: 300, seed })) {
    const text = words.join('').repeat(16_384).slice(0, 16_384)
    bounded(JSON.stringify(text.slice(0, 60)), () => new ErrorExcerpt().add(text))
  }
  console.info(`longest: ${longest.ms.toFixed(0)} ms of CPU, ${longest.what}`)
}, 60_000)

it('any archive of headers is refused or read in bounded CPU time', async () => {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'longshore-bounded-'))
  const name = fc.constantFrom('a', './', 'a/b', `${'d/'.repeat(90)}f`, 'x'.repeat(90))
  const entry: fc.Arbitrary<TarEntry[]> = fc.oneof(
    name.map((one) => [{ name: one.slice(0, 100), type: '5' }]),
    fc
      .tuple(name, fc.nat(200))
      .map(([one, size]) => [{ name: one.slice(0, 100), content: 'x'.repeat(size) }]),
    name.map((one) => [gnuLongName(one), { name: 'x' }]),
    fc
      .nat(300)
      .map((count) => [
        pax(Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, 'v']))),
        { name: 'x' },
      ]),
    fc.constantFrom('x', 'g', 'L').map((type) => [{ name: 'p', type, content: '4 =\n'.repeat(16_000) }]),
  )
  const archives = fc.sample(fc.array(entry, { minLength: 1, maxLength: 4 }), { numRuns: 25, seed })
  let most = 0
  for (const [index, units] of archives.entries()) {
    const unit = units.flat()
    const unitBytes = unit.reduce((sum, { content }) => sum + 1_024 + (content?.length ?? 0), 0)
    const entries = Array.from(
      { length: Math.min(25_000, Math.floor(20_000_000 / unitBytes)) },
      () => unit,
    ).flat()
    const file = path.join(dir, `${index}.tgz`)
    await writeFile(file, tgz(entries))
    const before = process.cpuUsage()
    const outcome = await unpackArchive({
      file,
      extension: '.tgz',
      into: path.join(dir, `out-${index}`),
      dockerfile: null,
      limits: { maxRatio: 1e9 },
      signal: new AbortController().signal,
    }).catch((error: unknown) => error)
    const cpu = process.cpuUsage(before)
    most = Math.max(most, (cpu.user + cpu.system) / 1000)
    if (outcome instanceof Error) expect(outcome).toBeInstanceOf(EngineFailure)
    await rm(path.join(dir, `out-${index}`), { recursive: true, force: true })
  }
  console.info(`longest: ${most.toFixed(0)} ms of CPU for a whole archive`)
  expect(most).toBeLessThan(10_000)
  await rm(dir, { recursive: true, force: true })
}, 300_000)
