import { expect, it } from 'vitest'
import { mostClients } from '../../src/open-files.ts'

it('leaves half of the open files of the process to its own work', () => {
  const line = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax open files            ${soft}                 1048576              files     \n`
  expect(mostClients(line('1024'))).toBe(512)
  expect(mostClients(line('unlimited'))).toBe(Number.POSITIVE_INFINITY)
  expect(mostClients('')).toBe(Number.POSITIVE_INFINITY)
})
