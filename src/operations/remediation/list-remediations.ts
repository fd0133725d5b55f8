import { listRemediations } from '../../contract/remediations.ts'
import { visibleEnvironments } from '../../domain/access/environment-access.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import { listRuns } from '../../store/repositories/remediation-runs.ts'
import { listRemediations as listStored } from '../../store/repositories/remediations.ts'
import { handler } from '../core/handler.ts'
import { remediationResponse, runResponse } from './responses.ts'

/** M2: those of environments that the caller cannot access do not appear. */
export default handler(listRemediations, async ({ tx }, { limit, offset }, target) => {
  const { environment, app, account, membership } = target
  const wide = app ? { appId: app.appId } : { accountId: account.accountId }
  const only = visibleEnvironments(account, membership)
  const accessible = async () => (await listEnvironments(tx, wide, only!)).map(({ appEnvId }) => appEnvId)
  const of = environment
    ? { appEnvIds: [environment.appEnvId] }
    : only === null
      ? wide
      : { appEnvIds: await accessible() }
  const { remediations: stored, total } = await listStored(tx, of, { limit, offset })
  const remediations = []
  for (const { remediation, envName } of stored) {
    const { remediationId } = remediation
    const { runs } = await listRuns(tx, { remediationId }, { limit: 1, offset: 0 })
    const lastRun = runs[0] ? runResponse(runs[0]) : null
    remediations.push({ ...(await remediationResponse(tx, remediation)), envName, lastRun })
  }
  const hasMore = offset + remediations.length < total
  return { answer: { remediations, pagination: { limit, offset, total, hasMore } } }
})
