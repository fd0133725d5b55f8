import { expect, it } from 'vitest'
import { raceAbort } from '../../src/race-abort.ts'

const never = new Promise<never>(() => {})

it('ends a call that never answers, whether the signal aborts during it or before it', async () => {
  const stop = new AbortController()
  const waiting = raceAbort(never, stop.signal)
  stop.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
  await expect(raceAbort(never, stop.signal)).rejects.toThrow('stopped')
})

it('gives a result that comes too late to be discarded', async () => {
  const stop = new AbortController()
  let arrive: (value: string) => void = () => {}
  const late: string[] = []
  const call = new Promise<string>((resolve) => {
    arrive = resolve
  })
  const waiting = raceAbort(call, stop.signal, (value) => late.push(value))
  stop.abort(new Error('stopped'))
  await expect(waiting).rejects.toThrow('stopped')
  arrive('a connection')
  await expect.poll(() => late).toEqual(['a connection'])
})

it('passes on the result and the error of a call that is in time', async () => {
  const { signal } = new AbortController()
  expect(await raceAbort(Promise.resolve(1), signal)).toBe(1)
  await expect(raceAbort(Promise.reject(new Error('refused')), signal)).rejects.toThrow('refused')
})
