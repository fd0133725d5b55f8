import { expect, it } from 'vitest'
import { WatchReads } from '../../../src/mcp/transport/watch-reads.ts'

const goOn = new AbortController().signal

it('reads of subscriptions come one by one for a principal, and a few at once for all; ended ones leave', async () => {
  const reads = new WatchReads()
  const reading = new Map<string, number>()
  let most = 0
  let mostOfOne = 0
  const done: string[] = []
  const read = (principal: string) =>
    reads.run(principal, goOn, async () => {
      reading.set(principal, (reading.get(principal) ?? 0) + 1)
      most = Math.max(
        most,
        [...reading.values()].reduce((sum, one) => sum + one, 0),
      )
      mostOfOne = Math.max(mostOfOne, reading.get(principal)!)
      await new Promise((resolve) => setImmediate(resolve))
      reading.set(principal, reading.get(principal)! - 1)
      done.push(principal)
    })
  const many = Array.from({ length: 20 }, () => read('many'))
  const others = Array.from({ length: 10 }, (_, number) => read(`other ${number}`))
  const ended = reads.run('many', AbortSignal.abort(), () => expect.fail('a read of an ended subscription'))
  await expect(ended).rejects.toThrow()
  await Promise.all([...many, ...others])
  expect([most, mostOfOne, done.length]).toEqual([4, 1, 30])
  // The one with many reads is not served before the others.
  expect(done.slice(0, 20).filter((one) => one !== 'many')).toHaveLength(10)
  await expect(reads.run('many', goOn, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  expect(await reads.run('many', goOn, async () => 'again')).toBe('again')
})
