import { expect, it } from 'vitest'
import { type StopStep, stopInOrder } from '../../../src/server/stop-in-order.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const never = () => new Promise<never>(() => {})

it('ends the steps in order', async () => {
  const ended: string[] = []
  const step = (name: string): StopStep => [name, async () => void ended.push(name)]
  expect(await stopInOrder([step('API'), step('store')], 1_000, new TestClock())).toBeNull()
  expect(ended).toEqual(['API', 'store'])
})

it('names the step that does not end within the limit, and goes no further', async () => {
  const clock = new TestClock()
  const ended: string[] = []
  const steps: StopStep[] = [
    ['API', () => ended.push('API')],
    ['regions', never],
    ['store', () => ended.push('store')],
  ]
  const ending = stopInOrder(steps, 1_000, clock)
  await clock.advance(999)
  let result: string | null | undefined
  void ending.then((name) => (result = name))
  await clock.advance(0)
  expect(result).toBeUndefined()
  await clock.advance(1)
  expect(await ending).toBe('regions')
  expect(ended).toEqual(['API'])
})

it('passes on the error of a step', async () => {
  const fails: StopStep = ['store', () => Promise.reject(new Error('the disk is full'))]
  await expect(stopInOrder([fails], 1_000, new TestClock())).rejects.toThrow('the disk is full')
})
