import { expect, it } from 'vitest'
import { endParts, type Part } from '../../../src/server/end-parts.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const never = () => new Promise<never>(() => {})

it('ends the parts in order', async () => {
  const ended: string[] = []
  const part = (name: string): Part => [name, async () => void ended.push(name)]
  expect(await endParts([part('API'), part('store')], 1_000, new TestClock())).toBeNull()
  expect(ended).toEqual(['API', 'store'])
})

it('names the part that does not end within the limit, and goes no further', async () => {
  const clock = new TestClock()
  const ended: string[] = []
  const parts: Part[] = [
    ['API', () => ended.push('API')],
    ['regions', never],
    ['store', () => ended.push('store')],
  ]
  const ending = endParts(parts, 1_000, clock)
  await clock.advance(999)
  let result: string | null | undefined
  void ending.then((name) => (result = name))
  await clock.advance(0)
  expect(result).toBeUndefined()
  await clock.advance(1)
  expect(await ending).toBe('regions')
  expect(ended).toEqual(['API'])
})

it('passes on the error of a part', async () => {
  const fails: Part = ['store', () => Promise.reject(new Error('the disk is full'))]
  await expect(endParts([fails], 1_000, new TestClock())).rejects.toThrow('the disk is full')
})
