import { existsSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { readInterfaceRules } from '../../../testkit/interface-rules.ts'
import { commentsOf, filesEndingWith, root, titlesOf } from '../../../testkit/source-text.ts'

const sources = filesEndingWith('.ts', '.mjs', '.js')
const documents = filesEndingWith('.md')

/** Anchors of the headings of a document, as GitHub makes them. */
function anchorsOf(text: string): Set<string> {
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#+ (.+)$/gm)
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Whether a path, with an anchor or without, leads somewhere: from the root, or from the file that cites it. */
function resolves(citation: string, citedIn: string): boolean {
  const [file = '', anchor] = citation.split('#')
  const target = [file === '' ? citedIn : file, path.posix.join(path.posix.dirname(citedIn), file)].find(
    (candidate) => candidate !== '' && existsSync(path.join(root, candidate)),
  )
  if (target === undefined) return false
  return anchor === undefined || anchorsOf(documents.get(target) ?? '').has(anchor)
}

/** Values that `rule` has in a source file: of a property or a default, also one of several. */
function rulesNamedIn(text: string): string[] {
  const values = text.matchAll(
    /\brule(?::| =) (?:[^'"\n]* \? |z\.enum\(\[)?('[^'\n]*'(?:(?:, | : )'[^'\n]*')*)/g,
  )
  return [...values].flatMap((match) =>
    [...(match[1] as string).matchAll(/'([^']*)'/g)].map(([, id = '']) => id),
  )
}

/**
 * Numbers at the start of a title that are no rule id: `3.9`, `9:`, `8 takes names`. A count is at least 10 in digits and
 * has no colon (`50 at once`, `2,000 calls`), so a smaller one is written as a word.
 */
function undefinedNumbers(title: string, rules: ReadonlyMap<string, string>): string[] {
  const words = title.split(' ')
  const end = words.findIndex((word) => !/^(?:and|or|[A-Z]?\d[\w.,:-]*)$/.test(word))
  return words.slice(0, end === -1 ? undefined : end).filter((word) => {
    const id = word.replace(/[.,:]+$/, '')
    return /^\d/.test(word) && !rules.has(id) && (word !== id || !/^\d{2,}$|^\d+,\d{3}\b/.test(word))
  })
}

/** Prose of a source file; of a document all but its code, where a newcomer's own files may stand. */
function proseOf(name: string, text: string): string {
  if (name.endsWith('.md')) return text.replaceAll(/^```[\s\S]*?^```/gm, '')
  return [commentsOf(text), ...(name.startsWith('test/') ? titlesOf(text) : [])].join('\n')
}

const everything = [...sources, ...documents].map(([name, text]) => ({ name, prose: proseOf(name, text) }))

function broken(pattern: RegExp): string[] {
  return everything.flatMap(({ name, prose }) =>
    [...prose.matchAll(pattern)]
      .map((match) => match[1] as string)
      .filter((citation) => !resolves(citation, name))
      .map((citation) => `${name} cites ${citation}`),
  )
}

describe('a citation resolves within the repository', () => {
  it('reads comments and documents at all', () => {
    expect(sources.size).toBeGreaterThan(500)
    expect(documents.size).toBeGreaterThan(10)
    expect(everything.filter(({ prose }) => prose.includes('docs/interface.md#')).length).toBeGreaterThan(50)
  })

  it('knows a broken one', () => {
    expect(resolves('docs/interface.md#errors', 'src/errors.ts')).toBe(true)
    expect(resolves('interface.md#errors', 'docs/glossary.md')).toBe(true)
    expect(resolves('docs/interface.md#no-such-section', 'src/errors.ts')).toBe(false)
    expect(resolves(`contract${'.md'}`, 'src/errors.ts')).toBe(false)
  })

  it('of a document, with its anchor', () => {
    expect(broken(/(?<![\w/.-])((?:[\w.-]+\/)*[\w-]{2,}\.md(?:#[\w-]+)?)/g)).toEqual([])
  })

  it('by a link of a document', () => {
    expect(broken(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)).toEqual([])
  })

  it('of a file or a folder', () => {
    expect(
      broken(
        /(?<![\w/.-])((?!tools\/(?:list|call)\b)(?:src|tools|test|bench|evals|docs|examples)\/[\w./-]*[\w])/g,
      ),
    ).toEqual([])
  })

  it('never by the number of a section, which changes', () => {
    const numbered = everything.filter(
      ({ name, prose }) => !name.startsWith('test/unit/rules/') && /\bsections? \d/i.test(prose),
    )
    expect(numbered.map(({ name }) => name)).toEqual([])
  })
})

describe('a rule id is defined in docs/interface.md', () => {
  const rules = readInterfaceRules()
  const letters = [...new Set([...rules.keys()].map((id) => id[0] as string).filter((c) => /[A-Z]/.test(c)))]
  const lettered = new RegExp(`(?<![\\w./-])[${letters.join('')}]\\d{1,2}(?![\\w.-]*\\w)`, 'g')
  const numbered = /\(([2-9]\.[\w-]+)\)/g

  it('wherever one is cited: comments, texts and titles', () => {
    const unknown = [...sources, ...documents].flatMap(([name, text]) => {
      const ids = [
        ...[...text.matchAll(lettered)].map(([id]) => id),
        ...[...proseOf(name, text).matchAll(numbered)].map((match) => match[1] as string),
        ...(name.startsWith('test/')
          ? titlesOf(text).flatMap((title) => undefinedNumbers(title, rules))
          : []),
      ]
      return ids.filter((id) => !rules.has(id)).map((id) => `${name} cites ${id}`)
    })
    expect(unknown).toEqual([])
  })

  it('wherever an error or a response names one: `rule` in src and tools', () => {
    const named = [...sources]
      .filter(([name]) => /^(?:src|tools)\//.test(name))
      .flatMap(([name, text]) => rulesNamedIn(text).map((id) => ({ name, id })))
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter(({ id }) => !rules.has(id))).toEqual([])
  })

  it('reads the values of `rule`, also behind a condition and as defaults', () => {
    const text =
      "rule: 'F8' rule = 'A3', rule: isFunction ? 'F6' : 'F5', rule: z.enum(['F1', 'F2']) rule: string, 'X'"
    expect(rulesNamedIn(text)).toEqual(['F8', 'A3', 'F6', 'F5', 'F1', 'F2'])
  })

  it('knows an id that nothing defines', () => {
    const id = `F${99}`
    expect(id.match(lettered)).toEqual([id])
    expect(rules.has(id)).toBe(false)
  })

  it.each([
    ['9: firing ends', ['9:']],
    ['26, E5: update-app-env', ['26,']],
    ['8 takes names', ['8']],
    ['2.1 and 8.Job defaults: inherited', ['8.Job']],
    ['7.404 and 7.999 tell callers apart', ['7.999']],
    ['2.7, 8.alert-name and E5: fields', []],
    ['50 at once', []],
    ['2,000 calls of 64 clients', []],
    ['429', []],
  ])('knows a number at the start of a title that is no id: %s', (title, found) => {
    expect(undefinedNumbers(title, rules)).toEqual(found)
  })
})
