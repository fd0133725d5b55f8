import { expect, it } from 'vitest'
import { lastBytesOf, OutputLimit } from '../../../src/engines/output-limit.ts'

it('keeps the beginning, says that lines are missing, and ends with the last 200', () => {
  const kept: string[] = []
  const output = new OutputLimit(1_000, ({ message }) => kept.push(message))
  for (let line = 0; line < 1_000; line += 1) output.add({ stream: 'stdout', message: String(line) })
  output.end()
  expect(kept.slice(0, 10)).toEqual(Array.from({ length: 10 }, (_, line) => String(line)))
  expect(kept[10]).toMatch(/left out/)
  expect(kept.slice(11)).toEqual(Array.from({ length: 200 }, (_, line) => String(800 + line)))
})

it('takes the last 200 lines of a chunk, and of a short one everything', () => {
  const lines = Array.from({ length: 300 }, (_, line) => `${line}\n`)
  expect(lastBytesOf(Buffer.from(`${lines.join('')}rest`)).toString()).toBe(
    `\n${lines.slice(100).join('')}rest`,
  )
  expect(lastBytesOf(Buffer.from('a\nb')).toString()).toBe('a\nb')
  expect(lastBytesOf(Buffer.from('')).toString()).toBe('')
})
