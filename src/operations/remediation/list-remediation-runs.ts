import { listRemediationRuns } from '../../contract/remediations.ts'
import { listRuns } from '../../store/repositories/remediation-runs.ts'
import { handler } from '../core/handler.ts'
import { runResponse } from './responses.ts'

export default handler(listRemediationRuns, async ({ tx }, { remediationId, status, limit, offset }) => {
  const { runs, total } = await listRuns(tx, { remediationId }, { status, limit, offset })
  const pagination = { limit, offset, total, hasMore: offset + runs.length < total }
  return { answer: { runs: runs.map(runResponse), pagination } }
})
