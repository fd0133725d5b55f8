import { afterEach, expect, it } from 'vitest'
import { Pacer, yieldAlone } from '../../src/pacer.ts'

let round = 0
let timer: NodeJS.Immediate | undefined
afterEach(() => clearImmediate(timer))

function countRounds(): void {
  round += 1
  timer = setImmediate(countRounds)
}

it.each([
  ['yieldAlone', () => yieldAlone()],
  ['a pacer for each caller', () => new Pacer().after(1_000_000)],
])('gives each of many simultaneous callers a turn of its own: %s', async (_title, yields) => {
  countRounds()
  const rounds: number[] = []
  await Promise.all(
    Array.from({ length: 20 }, async () => {
      await yields()
      rounds.push(round)
    }),
  )
  expect(new Set(rounds).size).toBe(20)
})
