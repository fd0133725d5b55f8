import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  MatchSteps,
  matchesWildcard,
  mostSteps,
  parseDockerignore,
} from '../../../src/engines/dockerfile/dockerignore.ts'

describe('.dockerignore', () => {
  it.each<[string, string[], string[]]>([
    ['*.txt', ['a.txt'], ['sub/a.txt', 'a.txts']],
    ['**/*.txt', ['a.txt', 'sub/a.txt', 'x/y/a.txt'], ['a.md']],
    ['sub', ['sub', 'sub/a', 'sub/x/y'], ['other/sub']],
    ['/sub/', ['sub', 'sub/a'], ['subs']],
    ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z/deep'], ['z', 'a/b']],
    ['**', ['a', 'a/b'], []],
    ['.', [], ['a']],
    ['*\n!keep', ['a', 'b/c'], ['keep', 'keep/x']],
    ['*\n!src/x\n', ['src', 'src/y'], ['src/x']],
    ['!a\na', ['a'], []],
    ['# a\n\n  b  \r\n', ['b'], ['a', '# a']],
    ['../a', ['a'], []],
    ['[a-c]?', ['a1', 'c9'], ['d1', 'a']],
    ['[^a]', ['b'], ['a']],
    ['\\*', ['*'], ['a']],
  ])('%j', async (text, ignored, kept) => {
    const rules = parseDockerignore(text)
    for (const path of ignored) expect(await rules.isIgnored(path), path).toBe(true)
    for (const path of kept) expect(await rules.isIgnored(path), path).toBe(false)
  })

  it('agrees with a regular expression on short patterns', () => {
    const text = (...characters: string[]) =>
      fc.string({ unit: fc.constantFrom(...characters), maxLength: 8 })
    fc.assert(
      fc.property(text('a', 'b', '*', '?'), text('a', 'b'), (pattern, name) => {
        const expected = new RegExp(`^${pattern.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(name)
        expect(matchesWildcard(pattern, name)).toBe(expected)
      }),
      { numRuns: 3_000 },
    )
  })

  it('takes patterns made to hold the platform in its stride', async () => {
    const before = process.cpuUsage()
    const rules = parseDockerignore(`${'*a'.repeat(120)}b\n${'**/a/'.repeat(60)}b\n`)
    expect(await rules.isIgnored('a'.repeat(255))).toBe(false)
    expect(await rules.isIgnored(`${'a/'.repeat(200)}c`)).toBe(false)
    expect(process.cpuUsage(before).user / 1_000).toBeLessThan(500)
    expect(() => parseDockerignore('x\n'.repeat(3_000))).toThrow(/patterns/)
  })

  it('refuses patterns that take too long for one path, or for all', async () => {
    const slow = `*${'a'.repeat(120)}b\n`
    await expect(parseDockerignore(slow.repeat(1_000)).isIgnored('a'.repeat(255))).rejects.toThrow(
      /too long to match/,
    )
    const steps = new MatchSteps()
    const rules = parseDockerignore(slow, steps)
    const most = mostSteps / 1_000
    for (let spent = 0; spent + most < mostSteps; spent += most) {
      steps.begin()
      steps.spend(most)
    }
    const ignoring = async () => {
      for (let count = 0; count < 1_000; count += 1) await rules.isIgnored('a'.repeat(255))
    }
    await expect(ignoring()).rejects.toThrow(/too long to match/)
    expect(() => parseDockerignore('x'.repeat(2_000))).toThrow(/pattern of more than 1024/)
  })

  it('counts each character of a set, so that long sets are refused too', async () => {
    const set = `**/*[${'b'.repeat(980)}]\n`
    await expect(parseDockerignore(set.repeat(130)).isIgnored('a'.repeat(250))).rejects.toThrow(
      /too long to match/,
    )
    const steps = new MatchSteps()
    expect(matchesWildcard('*[b-cx]', 'aaax', steps)).toBe(true)
    expect(steps.total).toBeGreaterThanOrEqual(4 * '[b-cx]'.length)
  })

  it('takes 2,000 ordinary patterns for 20,000 files', async () => {
    const patterns = Array.from({ length: 2_000 }, (_, index) => `**/build-${index}/*.log`)
    const steps = new MatchSteps()
    const rules = parseDockerignore(patterns.join('\n'), steps)
    for (let file = 0; file < 2_000; file += 1)
      expect(await rules.isIgnored(`src/a/b/c/file-${file}.js`)).toBe(false)
    expect(steps.total * 10).toBeLessThan(mostSteps)
  })

  it('lets the event loop have its turn between the patterns of a path', async () => {
    const steps = new MatchSteps()
    const rules = parseDockerignore(`*${'a'.repeat(120)}b\n`.repeat(100), steps)
    let turns = 0
    let timer = setImmediate(function count() {
      turns += 1
      timer = setImmediate(count)
    })
    expect(await rules.isIgnored('a'.repeat(255))).toBe(false)
    clearImmediate(timer)
    expect(steps.total).toBeGreaterThan(1_000_000)
    expect(turns).toBeGreaterThan(steps.total / 200_000)
  })
})
