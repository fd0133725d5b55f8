import { expect, it } from 'vitest'
import { shapeProblem } from '../../src/json-shape.ts'

const fields = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, nth) => [`f${nth}`, nth])))
const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`

it.each([
  [nested(100), null],
  [nested(102), 'nests more than 100 levels deep'],
  ['['.repeat(500_000), 'nests more than 100 levels deep'],
  [fields(10_000), null],
  [fields(10_001), 'has more than 10,000 fields'],
  [JSON.stringify({ text: '"a":'.repeat(20_000) }), null],
  [JSON.stringify({ text: '[{'.repeat(200), quoted: '"[\\'.repeat(200) }), null],
  [JSON.stringify(Array.from({ length: 200 }, () => [{}])), null],
])('%#', (json, problem) => {
  expect(shapeProblem(Buffer.from(json))).toBe(problem)
})
