import { expect, it } from 'vitest'
import { filesEndingWith } from '../../../testkit/source-text.ts'

it('texts say "1 container" and "3 containers", never "container(s)"', () => {
  const found = [...filesEndingWith('.ts', '.tsx', '.mjs', '.md')]
    .filter(([name]) => /^(?:src|tools|scripts|bench|docs|README)/.test(name))
    .flatMap(([name, text]) => text.split('\n').map((line) => `${name}: ${line.trim()}`))
    // X2 gives this text word for word.
    .filter((line) => !line.includes('alert(s) are using this contact point'))
    // A word with the ending in brackets; a call such as `read(s)` ends a word of code and no sentence.
    .filter((line) => /[a-z]\((?:s|es)\)(?= [a-z]|[.,;:`'}]| \()(?!\.\w|[,;]?$)/.test(line))
  expect(found).toEqual([])
})
