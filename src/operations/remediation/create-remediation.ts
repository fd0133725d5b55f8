import { createRemediation } from '../../contract/remediations.ts'
import { newId } from '../../domain/ids.ts'
import { type StoredRemediation, usualVerify } from '../../domain/remediation/remediation.ts'
import { AppError } from '../../errors.ts'
import { findAlert } from '../../store/repositories/alerts.ts'
import { insertRemediation, listRemediations } from '../../store/repositories/remediations.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { checked, remediationChange } from './change-remediation.ts'
import { remediationResponse, sentenceOf } from './responses.ts'

const mostOfEnvironment = 50

export default handler(createRemediation, async (context, input, target) => {
  const { tx, now, caller } = context
  const { environment, account } = target
  const { appEnvId: _id, envName: _name, verify, ...given } = input
  const { appEnvId } = environment
  const { total } = await listRemediations(tx, { appEnvIds: [appEnvId] }, { limit: 1, offset: 0 })
  if (total >= mostOfEnvironment) {
    throw new AppError('invalid', `An environment has at most ${mostOfEnvironment} remediations`, {
      details: 'Delete one that is no longer needed: list-remediations, then delete-remediation.',
    })
  }
  const alert = 'alertId' in given.trigger ? await findAlert(tx, given.trigger.alertId) : null
  const draft: StoredRemediation = {
    ...given,
    remediationId: newId('rem'),
    appEnvId,
    accountId: account.accountId,
    verify: verify ?? usualVerify(alert),
    modeBefore: given.mode,
    actsFor: userOf(caller),
    createdAt: now,
    updatedAt: now,
    revision: 1,
  }
  const remediation = await checked(context, target, null, draft)
  await insertRemediation(tx, remediation)
  const effect = sentenceOf(remediation)
  return {
    answer: {
      message: `Remediation ${remediation.remediationId} created. ${effect}`,
      remediation: await remediationResponse(tx, remediation),
    },
    change: remediationChange(null, remediation),
    impact: { actions: ['create-object'] },
    effects: [effect],
  }
})
