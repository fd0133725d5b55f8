import { deleteRemediation } from '../../contract/remediations.ts'
import { listOpenRuns } from '../../store/repositories/remediation-runs.ts'
import { deleteRemediation as removeRemediation } from '../../store/repositories/remediations.ts'
import { handler } from '../core/handler.ts'
import { remediationChange } from './change-remediation.ts'
import { ended } from './runs/end-run.ts'

export default handler(deleteRemediation, async ({ tx, now }, { remediationId }, { remediation }) => {
  const open = await listOpenRuns(tx, { remediationId })
  // Its agents can do nothing more, and its approvals wait no longer.
  for (const run of open) await ended(tx, run, { status: 'skipped', reason: 'Deleted.', at: now })
  await removeRemediation(tx, remediationId)
  return {
    answer: { message: `Remediation ${remediationId} deleted` },
    change: remediationChange(remediation, null),
    impact: { actions: ['delete-object'] },
    effects: [
      `Deletes the remediation ${remediationId} with its runs.`,
      ...(open.length > 0 ? ['The run that is on stops; what its steps did stays.'] : []),
    ],
  }
})
