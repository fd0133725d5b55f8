import { afterEach, expect, it } from 'vitest'
import { beginFairly, noteConnect } from '../../src/api/fair-queue.ts'
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

it('alternates between names, however many calls of one wait', async () => {
  const order: string[] = []
  await Promise.all(
    [...'aaaaabbc'].map(async (name) => {
      await yieldAlone(name)
      order.push(name)
    }),
  )
  expect(order.join('')).toBe('abcabaaa')
})

/** Begins so many requests with a token from an address, and answers the rounds in which their work began. */
function requests(count: number, token: string | ((nth: number) => string), address = '192.0.2.1') {
  const tokenOf = typeof token === 'string' ? () => token : token
  return Promise.all(
    Array.from({ length: count }, (_, nth) =>
      new Promise<void>((begin) => beginFairly(address, tokenOf(nth), begin)).then(() => round),
    ),
  )
}

it('begins a few requests in a round, those of the tokens of an address in turn', async () => {
  countRounds()
  const many = requests(500, 'one')
  const [other] = await requests(1, 'other')
  const rounds = await many
  const first = Math.min(...rounds)
  const inRound = (wanted: number) => rounds.filter((one) => one === wanted).length
  expect(Math.max(...rounds.map(inRound))).toBeLessThanOrEqual(16)
  expect(other! - first).toBeLessThanOrEqual(2)
})

it('lets no address go first by many tokens, which a stranger can make up', async () => {
  countRounds()
  const strangers = requests(1_000, (nth) => `made-up-${nth}`)
  const [other] = await requests(1, 'valid', '192.0.2.2')
  const rounds = await strangers
  expect(other! - Math.min(...rounds)).toBeLessThanOrEqual(2)
  // All are served: sixteen in a round.
  expect(Math.max(...rounds) - Math.min(...rounds)).toBeGreaterThan(1_000 / 16 - 2)
})

it('gives each address one request in turn, and each token of it', async () => {
  const order: string[] = []
  // So that all of them wait.
  noteConnect()
  const all = ['a1', 'a1', 'a2', 'b1', 'b2', 'a1'].map(
    (name) =>
      new Promise<void>((resolve) => {
        beginFairly(name[0]!, name, () => {
          order.push(name)
          resolve()
        })
      }),
  )
  await Promise.all(all)
  expect(order).toEqual(['a1', 'b1', 'a2', 'b2', 'a1', 'a1'])
})

it('leaves rounds to clients that connect', async () => {
  countRounds()
  let connecting = setImmediate(function connect() {
    noteConnect()
    connecting = setImmediate(connect)
  })
  noteConnect()
  const rounds = await requests(20, 'one')
  clearImmediate(connecting)
  expect(Math.max(...rounds) - Math.min(...rounds)).toBeGreaterThan(60)
})
