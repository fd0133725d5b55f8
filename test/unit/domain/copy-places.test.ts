import { expect, it } from 'vitest'
import { choosePlaces } from '../../../src/domain/backups/places.ts'

const copy = (name: string) => ({ id: name, accountId: name[0]!, appEnvId: name })
const begun = (waiting: string[], running: string[] = []) =>
  choosePlaces(waiting.map(copy), running.map(copy)).begin.map(({ id }) => id)

it('begins the copies of accounts alternately, and keeps a place from an account that has the others', () => {
  expect(begun(['a1', 'a2', 'a3', 'a4'])).toEqual(['a1', 'a2'])
  expect(begun(['a3', 'a4', 'b1'], ['a1', 'a2'])).toEqual(['b1'])
  expect(begun(['a2', 'a3', 'b1', 'c1'], ['a1'])).toEqual(['b1', 'c1'])
  expect(begun(['a2', 'b1', 'c1'], [])).toEqual(['a2', 'b1', 'c1'])
})

it('says why each of the others waits', () => {
  const { waits } = choosePlaces([copy('a1'), copy('a3'), copy('b1'), copy('c1')], [copy('a1'), copy('a2')])
  expect(waits.get('a1')).toBe('Another copy of this environment is under way.')
  expect(waits.get('a3')).toMatch(/^3 copies are under way on this machine/)
  expect(waits.get('c1')).toMatch(/^3 copies are under way on this machine/)
  expect(choosePlaces([copy('a3')], [copy('a1'), copy('a2')]).waits.get('a3')).toBe(
    '2 copies of the account are under way; one more place is kept for other accounts.',
  )
})
