import { expect, it } from 'vitest'
import { listed } from '../../src/amounts.ts'

it('a sentence lists at most ten names, and says how many more there are', () => {
  expect(listed(['one', 'two'])).toBe('one, two')
  const many = Array.from({ length: 490 }, (_, index) => `name${index}`)
  expect(listed(many)).toBe(`${many.slice(0, 10).join(', ')} and 480 more`)
})
