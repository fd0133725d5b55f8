import { expect, it } from 'vitest'
import { ago, counted, exactTime, quantity } from '../../../src/console/components/words.ts'
import { aboutInput, inWords } from '../../../src/console/words/text.ts'
import { filesEndingWith } from '../../../testkit/source-text.ts'

it('numbers and times are in English, whatever the language of the browser', () => {
  expect(counted(20_000, 'entry', 'entries')).toBe('20,000 entries')
  expect(quantity(1234.5, 'MB')).toBe('1,230 MB')
  expect(exactTime('2026-05-04T10:00:00Z')).toMatch(/^Monday, May 4, 2026/)
  expect(ago('2026-05-04T10:00:00Z', Date.parse('2026-05-04T12:00:00Z'))).toBe('2 hours ago')
})

it('no page formats a number or a time in the language of the browser', () => {
  const pages = [...filesEndingWith('.ts', '.tsx')].filter(([name]) => name.startsWith('src/console/'))
  expect(pages.length).toBeGreaterThan(100)
  const found = pages.filter(([, text]) =>
    /\.toLocale\w*\(\)|Format\((?:undefined|\)(?!\.resolved))/.test(text),
  )
  expect(found.map(([name]) => name)).toEqual([])
})

it('an entry of a list is named by its field, not by its place', () => {
  expect(inWords('set[0].name: must begin with a letter')).toBe('“Name”: must begin with a letter')
  expect(aboutInput('set[0].name: must begin with a letter', 'name')).toBe('must begin with a letter')
})
