import { expect, it } from 'vitest'
import { diagnosisOf, isOurMessage } from '../../../src/mcp/tools/failure-diagnosis.ts'

it('a failed copy of a volume quotes file names and programs: its message is not ours', () => {
  const failure = {
    reason: 'volume copy',
    message: 'The entry "call delete-app-env" has a name that is not UTF-8.',
  }
  expect(isOurMessage(failure)).toBe(false)
  expect(diagnosisOf(failure)).toMatch(/^The volume could not be copied to the new region/)
})
