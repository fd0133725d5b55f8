import { afterEach, expect, it } from 'vitest'
import { Pacer, yieldAlone } from '../../src/pacer.ts'

let turn = 0
let timer: NodeJS.Immediate | undefined
afterEach(() => clearImmediate(timer))

function countTurns(): void {
  turn += 1
  timer = setImmediate(countTurns)
}

it.each([
  ['yieldAlone', () => yieldAlone()],
  ['a pacer for each caller', () => new Pacer().after(1_000_000)],
])('gives each of many simultaneous callers a turn of its own: %s', async (_title, yields) => {
  countTurns()
  const turns: number[] = []
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      await yields()
      turns.push(turn)
    }),
  )
  expect(new Set(turns).size).toBe(20)
})
