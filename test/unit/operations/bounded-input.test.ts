import { expect, it } from 'vitest'
import type { z } from 'zod'
import { operations } from '../../../src/contract/index.ts'
import { AppError } from '../../../src/errors.ts'
import { checkInput } from '../../../src/operations/core/check-input.ts'

/** As in bounded-work.test.ts: twenty times what is allowed on the event loop. */
const mostCpuMs = 1_000
/** The limit of a JSON body. */
const longest = 1_000_000

const texts = [
  'a',
  '-',
  'a.',
  'a-',
  'a/',
  '.',
  '@',
  'a@',
  '\u200b',
  '\ud83d\ude00',
  ' ',
  '$',
  '{',
  ':',
  '0',
  '%41',
  'a=',
].map((unit) => unit.repeat(longest / unit.length))

/** A value of each kind that a caller may send in the place of an input, with as much of it as a body holds. */
const floods: readonly unknown[] = [
  ...texts,
  ...texts.map((text) => `https://${text}`),
  Array.from({ length: longest / 4 }, () => 'a'),
  Array.from({ length: longest / 4 }, () => ({})),
  Array.from({ length: longest / 50 }, (_, index) => ({ name: `A${index}`, value: 'x', isSecret: true })),
  Object.fromEntries(Array.from({ length: longest / 20 }, (_, index) => [`k${index}`, 1])),
  JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`),
  JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`),
]

it.each(operations.map((row) => [row.id, row] as const))(
  'checking any input of %s takes bounded time',
  (_id, row) => {
    const names = Object.keys((row.input as unknown as z.ZodObject).shape)
    let most = { ms: 0, what: '' }
    for (const [index, flood] of floods.entries()) {
      const inputs = [...names.map((name) => ({ [name]: flood })), { unknown: flood }]
      for (const input of inputs) {
        const before = process.cpuUsage()
        try {
          checkInput(row, input)
        } catch (error) {
          expect(error).toBeInstanceOf(AppError)
          expect((error as AppError).details!.length).toBeLessThan(4_000)
        }
        const ms = process.cpuUsage(before).user / 1000
        if (ms > most.ms) most = { ms, what: `${Object.keys(input)[0]} with flood ${index}` }
      }
    }
    if (most.ms > 50) console.info(`${row.id}: ${most.ms.toFixed(0)} ms, ${most.what}`)
    expect(most.ms, most.what).toBeLessThan(mostCpuMs)
  },
)
