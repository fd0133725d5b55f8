import { describe, expect, it } from 'vitest'
import { filesEndingWith } from '../../../testkit/source-text.ts'

const mostLines = 300
const mostProse = 3
const widest = 130

const files = [...filesEndingWith('.ts', '.tsx', '.mjs', '.js', '.css')]

it(`no file has more than ${mostLines} lines; lint holds functions to 50`, () => {
  const long = files.filter(([, text]) => text.split('\n').length - 1 > mostLines)
  expect(files.length).toBeGreaterThan(1000)
  expect(long.map(([name]) => name)).toEqual([])
})

/** Comments on lines of their own, each as the lines of its text. */
function commentsOnLines(text: string): string[][] {
  return (text.match(/^[ \t]*\/\*[\s\S]*?\*\/|(?:^[ \t]*\/\/.*\n)+/gm) ?? []).map((comment) =>
    comment.split('\n').map((line) => line.replace(/^\s*(?:\/\*+|\*\/|\*|\/\/) ?|\s*\*\/$/g, '')),
  )
}

/** Items of lists and indented rows (shapes, units, usage) may follow the prose of a comment. */
const isProse = (line: string) => /^\S/.test(line) && !line.startsWith('- ')

const isLong = (comment: string[]) =>
  comment.filter(isProse).length > mostProse || comment.some((line) => line.length > widest)

describe(`a comment has at most ${mostProse} lines of prose`, () => {
  it('reads both kinds of comments, and leaves out lists and rows', () => {
    const lines = (mark: string) => `  ${mark} one line\n`.repeat(mostProse + 1)
    expect(commentsOnLines(`let a = 1\n${lines('//')}`).map(isLong)).toEqual([true])
    expect(commentsOnLines(`/**\n${lines('*')} */\n`).map(isLong)).toEqual([true])
    const listed = '/**\n * one\n *\n * - a\n *   a\n * - b\n *   row\n */'
    expect(commentsOnLines(listed).map(isLong)).toEqual([false])
    expect(commentsOnLines(`/** ${'a'.repeat(widest + 1)} */`).map(isLong)).toEqual([true])
  })

  it('everywhere', () => {
    const long = files.flatMap(([name, text]) =>
      commentsOnLines(text)
        .filter(isLong)
        .map((comment) => `${name}: ${comment.find(isProse)}`),
    )
    expect(long).toEqual([])
  })
})
