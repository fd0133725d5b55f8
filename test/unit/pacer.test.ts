import { afterEach, expect, it } from 'vitest'
import { beginFairly, noteConnect } from '../../src/api/request-turns.ts'
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

/** Begins so many requests of a caller, and answers the rounds in which their work began. */
function requests(caller: string, count: number): Promise<number[]> {
  return Promise.all(
    Array.from({ length: count }, () =>
      new Promise<void>((begin) => beginFairly(caller, begin)).then(() => round),
    ),
  )
}

it('begins a few requests in a round, those of callers in turn', async () => {
  countRounds()
  const many = requests('one', 500)
  const [other] = await requests('other', 1)
  const rounds = await many
  const first = Math.min(...rounds)
  const inRound = (wanted: number) => rounds.filter((one) => one === wanted).length
  expect(Math.max(...rounds.map(inRound))).toBeLessThanOrEqual(16)
  expect(other! - first).toBeLessThanOrEqual(2)
})

it('leaves rounds to clients that connect', async () => {
  countRounds()
  let connecting = setImmediate(function connect() {
    noteConnect()
    connecting = setImmediate(connect)
  })
  noteConnect()
  const rounds = await requests('one', 20)
  clearImmediate(connecting)
  expect(Math.max(...rounds) - Math.min(...rounds)).toBeGreaterThan(60)
})
