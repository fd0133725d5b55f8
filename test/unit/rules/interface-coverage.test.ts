import { describe, expect, it } from 'vitest'
import { readInterfaceRules } from '../../../testkit/interface-rules.ts'
import { filesEndingWith, titlesOf } from '../../../testkit/source-text.ts'

describe('every rule of the interface', () => {
  const titles = [...filesEndingWith('.test.ts')]
    .filter(([name]) => !name.startsWith('test/unit/rules/'))
    .flatMap(([, text]) => titlesOf(text))
  const rules = readInterfaceRules()
  const cited = (id: string) =>
    titles.some((title) => new RegExp(`(?<![\\w.])${id.replaceAll('.', '\\.')}(?![\\w-])`).test(title))

  it('is found, and so are the titles', () => {
    expect(titles.length).toBeGreaterThan(300)
    expect(rules.size).toBeGreaterThan(60)
  })

  it.each([...rules])('%s (%s) is cited by a test', (id) => {
    expect(cited(id)).toBe(true)
  })
})
