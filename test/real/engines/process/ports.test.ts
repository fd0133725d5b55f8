import { afterEach, expect, it, vi } from 'vitest'
import { PortPicker } from '../../../../src/engines/process/free-port.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

it('two installations of a machine never pick the same port at once, although nothing listens on it yet', async () => {
  // Both begin their search at the same port.
  vi.spyOn(Math, 'random').mockReturnValue(0.37)
  const [one, other] = [new PortPicker(), new PortPicker()]
  const taken = [await one.take(), await one.take(), await other.take(), await other.take()]
  expect(new Set(taken).size).toBe(4)
  one.release(taken[0]!)
  await vi.waitFor(async () => expect(await new PortPicker().take()).toBe(taken[0]))
})
