import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesWildcard, parseDockerignore } from '../../src/engines/dockerignore.ts'

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
  ])('%j', (text, ignored, kept) => {
    const rules = parseDockerignore(text)
    expect(ignored.filter((path) => !rules.isIgnored(path))).toEqual([])
    expect(kept.filter((path) => rules.isIgnored(path))).toEqual([])
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

  it('takes patterns made to hold the platform in its stride', () => {
    const startMs = performance.now()
    const rules = parseDockerignore(`${'*a'.repeat(120)}b\n${'**/a/'.repeat(60)}b\n`)
    expect(rules.isIgnored('a'.repeat(255))).toBe(false)
    expect(rules.isIgnored(`${'a/'.repeat(200)}c`)).toBe(false)
    expect(performance.now() - startMs).toBeLessThan(500)
    expect(() => parseDockerignore('x\n'.repeat(3_000))).toThrow(/patterns/)
  })
})
