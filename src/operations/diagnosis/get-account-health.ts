import type { AlertState } from '../../contract/alerts.ts'
import { getAccountHealth } from '../../contract/diagnosis.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { worstOf } from '../../domain/diagnosis/attention.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import { handler } from '../core/handler.ts'
import { readAttention } from './read-attention.ts'

/** M1, M2: sums up the environments that the caller can access. */
export default handler(getAccountHealth, async (context, _input, { account, membership }) => {
  const { accountId } = account
  const only = isRestricted(account, membership) ? membership.allowedAppEnvIds : undefined
  const environments = await listEnvironments(context.tx, { accountId }, only)
  const { attention, alerts } = await readAttention(context, accountId, environments)
  const found = [...attention.values()]
  const withSeverity = (severity: string) => found.filter((one) => one.severity === severity).length
  const [critical, warning] = [withSeverity('critical'), withSeverity('warning')]
  const regionsAway = [...new Set(environments.map(({ region }) => region))].filter(
    (region) => context.installation.engineProblem(region) !== null,
  )
  const inStatus = (...statuses: EnvironmentStatus[]) =>
    environments.filter(({ status }) => statuses.includes(status)).length
  const inState = (state: AlertState) => alerts.get(state) ?? 0
  return {
    answer: {
      accountId,
      healthy: critical + warning + regionsAway.length === 0,
      environments: {
        total: environments.length,
        running: inStatus('RUNNING'),
        deploying: inStatus('PENDING', 'UPDATING'),
        stopped: inStatus('STOPPED'),
        critical,
        warning,
      },
      alerts: {
        total: [...alerts.values()].reduce((sum, count) => sum + count, 0),
        firing: inState('Firing'),
        noData: inState('NoData'),
        error: inState('Error'),
      },
      regionsAway,
      worst: worstOf(found),
      checkedAt: context.now,
    },
  }
})
