import { expect, it } from 'vitest'
import { type Clock, every } from '../src/clock.ts'

/** Hands out what is due instead of running it. */
class HandClock implements Clock {
  readonly due: (() => unknown)[] = []
  wallMs = () => 0
  monotonicMs = () => 0
  after(_delayMs: number, task: () => unknown) {
    this.due.push(task)
    return () => void this.due.splice(this.due.indexOf(task), 1)
  }
  turn = () => this.due.shift()!()
}

it('what is done every so often goes on after a turn that threw, and the error is not swallowed', async () => {
  const clock = new HandClock()
  let turns = 0
  const cancel = every(clock, 10, () => {
    turns += 1
    if (turns === 1) throw new Error('a bug')
  })
  await expect(clock.turn()).rejects.toThrow('a bug')
  await clock.turn()
  expect(turns).toBe(2)
  cancel()
  expect(clock.due).toEqual([])
})

it('turns never overlap, and one that is cancelled while it runs is the last', async () => {
  const clock = new HandClock()
  let end: () => void = () => {}
  const cancel = every(clock, 10, () => new Promise<void>((resolve) => (end = resolve)))
  const turn = clock.turn()
  expect(clock.due).toEqual([])
  cancel()
  end()
  await turn
  expect(clock.due).toEqual([])
})
