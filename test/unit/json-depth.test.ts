import { expect, it } from 'vitest'
import { nestsTooDeep } from '../../src/json-depth.ts'

const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`

it.each([
  [nested(100), false],
  [nested(102), true],
  ['['.repeat(500_000), true],
  [JSON.stringify({ text: '[{'.repeat(200), quoted: '"[\\'.repeat(200) }), false],
  [JSON.stringify(Array.from({ length: 200 }, () => [{}])), false],
])('%#', (json, isTooDeep) => {
  expect(nestsTooDeep(Buffer.from(json))).toBe(isTooDeep)
})
