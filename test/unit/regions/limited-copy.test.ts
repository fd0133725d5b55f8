import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { expect, it } from 'vitest'
import { LimitedCopy } from '../../../src/regions/backups/limited-copy.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const { signal } = new AbortController()
const copied = (copy: LimitedCopy, source: Iterable<Buffer> | AsyncIterable<Buffer>) => {
  const sink = new PassThrough().resume()
  return copy.fill(sink, (limited) =>
    pipeline(Readable.from(source), limited, { end: false, signal: copy.signal }),
  )
}

it('ends a copy that becomes larger than the limit, and passes one that just fits', async () => {
  const limits = { bytes: 3_000, minutes: 1 }
  const pieces = (count: number) => Array.from({ length: count }, () => Buffer.alloc(1_000))
  await copied(new LimitedCopy(limits, new TestClock(), signal), pieces(3))
  await expect(copied(new LimitedCopy(limits, new TestClock(), signal), pieces(4))).rejects.toThrow(
    'The data is larger than 3 kB',
  )
})

it('ends a copy that takes longer than the limit, counted from its beginning', async () => {
  const clock = new TestClock()
  const copy = new LimitedCopy({ bytes: 1_000, minutes: 10 }, clock, signal)
  async function* slow() {
    yield Buffer.alloc(1)
    await new Promise(() => {})
  }
  await clock.advance(60 * 60_000)
  copy.begin()
  const ended = expect(copied(copy, slow())).rejects.toThrow('It took longer than 10 minutes')
  await clock.advance(9 * 60_000)
  expect(copy.signal.aborted).toBe(false)
  await clock.advance(60_000)
  await ended
})
