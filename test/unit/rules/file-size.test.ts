import { expect, it } from 'vitest'
import { filesEndingWith } from '../../../testkit/source-text.ts'

const mostLines = 300

it(`no file has more than ${mostLines} lines; lint holds functions to 50`, () => {
  const files = [...filesEndingWith('.ts', '.tsx', '.mjs', '.js', '.css')].map(([file, text]) => ({
    file,
    lines: text.split('\n').length - 1,
  }))
  expect(files.length).toBeGreaterThan(1000)
  expect(files.filter(({ lines }) => lines > mostLines)).toEqual([])
})
