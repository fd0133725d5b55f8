import { expect, it } from 'vitest'
import { listed } from '../../src/counted.ts'

it('a sentence lists at most ten names, and says how many more there are', () => {
  expect(listed(['A', 'B'])).toBe('A, B')
  const many = Array.from({ length: 490 }, (_, index) => `V${index}`)
  expect(listed(many)).toBe('V0, V1, V2, V3, V4, V5, V6, V7, V8, V9 and 480 more')
})
