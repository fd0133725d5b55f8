import { getRemediationRun } from '../../contract/remediations.ts'
import { handler } from '../core/handler.ts'
import { runResponse } from './responses.ts'

export default handler(getRemediationRun, async (_context, _input, { remediationRun }) => ({
  answer: runResponse(remediationRun),
}))
