import { updateRemediation } from '../../contract/remediations.ts'
import type { StoredRemediation } from '../../domain/remediation/remediation.ts'
import { handler } from '../core/handler.ts'
import { saveRemediationChange } from './change-remediation.ts'
import { remediationResponse, sentenceOf } from './responses.ts'

export default handler(updateRemediation, async (context, input, target) => {
  const { remediationId, expectedRevision: _, ...given } = input
  const changes = Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Partial<StoredRemediation>
  const { remediation, change } = await saveRemediationChange(context, target, target.remediation, changes)
  const effect = sentenceOf(remediation)
  return {
    answer: {
      message: `Remediation ${remediationId} updated. ${effect}`,
      remediation: await remediationResponse(context.tx, remediation),
    },
    change,
    impact: {},
    effects: [effect],
  }
})
