import type { AlertState } from '../../contract/alerts.ts'
import { type Attention, getAccountHealth } from '../../contract/diagnosis.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { worstOf } from '../../domain/diagnosis/attention.ts'
import { diagnose } from '../../domain/diagnosis/diagnose.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { loadFacts } from './load-facts.ts'
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
      worst: await diagnosed(context, worstOf(found), { account, membership, environments }),
      checkedAt: context.now,
    },
  }
})

interface Account extends Pick<EnvironmentTarget, 'account' | 'membership'> {
  environments: readonly Environment[]
}

const mostCauses = 2

/** The causes that each environment's own diagnosis names: stored facts alone tell less than its logs. */
async function diagnosed(
  context: Context,
  worst: readonly Attention[],
  { account, membership, environments }: Account,
): Promise<Attention[]> {
  const byName = new Map(environments.map((environment) => [environment.cliEnvName, environment]))
  const found: Attention[] = []
  for (const one of worst) {
    const environment = byName.get(one.envName)
    const stored = environment && (await findApp(context.tx, environment.appId))
    if (!environment || !stored) continue
    const { facts } = await loadFacts(context, { environment, app: stored.app, account, membership })
    const severe = diagnose(facts).filter(({ severity }) => severity === one.severity)
    const causes = [...new Set(severe.map(({ cause }) => cause))].slice(0, mostCauses)
    found.push(causes.length === 0 ? one : { ...one, causes })
  }
  return found
}
