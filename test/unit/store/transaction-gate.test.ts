import { expect, it } from 'vitest'
import { TransactionGate } from '../../../src/store/postgres/transaction-gate.ts'

/** Work that ends when its `end` is called, and records when it starts. */
function tracked(gate: TransactionGate, begun: string[]) {
  return (name: string, alone: boolean) => {
    let end = () => {}
    const ended = new Promise<void>((resolve) => (end = resolve))
    const done = gate.take(alone, async () => {
      begun.push(name)
      await ended
    })
    return { end, done }
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

it('runs shared work concurrently, exclusive work alone, and everything in order of arrival', async () => {
  const begun: string[] = []
  const start = tracked(new TransactionGate(), begun)
  const [a, b, lone, c] = [start('a', false), start('b', false), start('lone', true), start('c', false)]
  await settled()
  expect(begun).toEqual(['a', 'b'])
  a.end()
  await a.done
  await settled()
  expect(begun).toEqual(['a', 'b'])
  b.end()
  await b.done
  await settled()
  expect(begun).toEqual(['a', 'b', 'lone'])
  lone.end()
  await lone.done
  await settled()
  expect(begun).toEqual(['a', 'b', 'lone', 'c'])
  c.end()
  await c.done
})

it('continues after work that failed', async () => {
  const gate = new TransactionGate()
  const failing = gate.take(true, async () => {
    throw new Error('mine')
  })
  await expect(failing).rejects.toThrow('mine')
  expect(await gate.take(true, async () => 'next')).toBe('next')
})
