import { expect, it } from 'vitest'
import { inChunks } from '../../../src/store/in-chunks.ts'

it('reads large rows a few at a time, in order, with the event loop running in between', async () => {
  const megabyte = 1024 * 1024
  const rows = [10, megabyte, 2 * megabyte, 5, 5, 5].map((bytes, key) => ({ key, bytes }))
  let turns = 0
  const count = setInterval(() => {
    turns += 1
  }, 0)
  const loads: number[][] = []
  const found: number[] = []
  const load = async (keys: number[]) => {
    // Other work runs between two loads: a timer of 0 ms is due after one turn.
    const endMs = performance.now() + 5
    while (performance.now() < endMs);
    loads.push(keys)
    return keys
  }
  for await (const row of inChunks(rows, load)) found.push(row)
  clearInterval(count)
  expect(found).toEqual([0, 1, 2, 3, 4, 5])
  expect(loads).toEqual([[0], [1], [2], [3, 4, 5]])
  expect(turns).toBeGreaterThanOrEqual(2)
})

it('takes at most 500 rows at once, and none where there are none', async () => {
  const sizes: number[] = []
  const load = async (keys: number[]) => {
    sizes.push(keys.length)
    return keys
  }
  const rows = Array.from({ length: 1_001 }, (_, key) => ({ key, bytes: 1 }))
  for await (const _row of inChunks(rows, load));
  for await (const _row of inChunks([], load));
  expect(sizes).toEqual([500, 500, 1])
})
