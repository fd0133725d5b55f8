import { getRemediation } from '../../contract/remediations.ts'
import { listRuns } from '../../store/repositories/remediation-runs.ts'
import { handler } from '../core/handler.ts'
import { remediationResponse, runResponse } from './responses.ts'

export default handler(getRemediation, async ({ tx }, { remediationId }, { remediation }) => {
  const { runs } = await listRuns(tx, { remediationId }, { limit: 10, offset: 0 })
  return { answer: { ...(await remediationResponse(tx, remediation)), runs: runs.map(runResponse) } }
})
