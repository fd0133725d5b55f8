import type { AlertState } from '../../contract/alerts.ts'
import { type Attention, getAccountHealth } from '../../contract/diagnosis.ts'
import type { EnvironmentStatus } from '../../contract/fields.ts'
import { visibleEnvironments } from '../../domain/access/environment-access.ts'
import { withinAnswer, worstOf } from '../../domain/diagnosis/attention.ts'
import { diagnose } from '../../domain/diagnosis/diagnose.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { listEnvironments } from '../../store/repositories/environments.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type AfterRead, type Context, handler } from '../core/handler.ts'
import { loadFacts } from './load-facts.ts'
import { readAttention } from './read-attention.ts'

/** M1, M2: sums up the environments that the caller can access. */
export default handler(getAccountHealth, async (context, _input, { account, membership }) => {
  const { accountId } = account
  const only = visibleEnvironments(account, membership)
  const environments = await listEnvironments(context.tx, { accountId }, only)
  const readRest = await readAttention(context, accountId, environments)
  const regionsAway = [...new Set(environments.map(({ region }) => region))].filter(
    (region) => context.installation.engineProblem(region) !== null,
  )
  const inStatus = (...statuses: EnvironmentStatus[]) =>
    environments.filter(({ status }) => statuses.includes(status)).length
  const answerWith = (
    found: readonly Attention[],
    alerts: ReadonlyMap<AlertState, number>,
    worst: Attention[],
  ) => {
    const withSeverity = (severity: string) => found.filter((one) => one.severity === severity).length
    const [critical, warning] = [withSeverity('critical'), withSeverity('warning')]
    const inState = (state: AlertState) => alerts.get(state) ?? 0
    return {
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
      worst,
      checkedAt: context.now,
    }
  }
  return {
    answer: answerWith([], new Map(), []),
    afterRead: async (_answer, after) => {
      const { attention, alerts } = await readRest(after)
      const found = [...attention.values()]
      const neverServed = environments.filter(({ currentRolloutId }) => currentRolloutId === null)
      const worst = worstOf(found, new Set(neverServed.map(({ cliEnvName }) => cliEnvName)))
      const shown = await diagnosed(context, after, worst, { account, membership, environments })
      return answerWith(found, alerts, withinAnswer(shown))
    },
  }
})

interface Account extends Pick<EnvironmentTarget, 'account' | 'membership'> {
  environments: readonly Environment[]
}

const mostCauses = 2

/** The causes in each environment's own diagnosis, which also reads its logs and not only stored facts. */
async function diagnosed(
  context: Context,
  after: AfterRead,
  worst: readonly Attention[],
  { account, membership, environments }: Account,
): Promise<Attention[]> {
  const byName = new Map(environments.map((environment) => [environment.cliEnvName, environment]))
  const found: Attention[] = []
  for (const one of worst) {
    const environment = byName.get(one.envName)
    const readFacts =
      environment &&
      (await after.read(async (tx) => {
        const stored = await findApp(tx, environment.appId)
        const owners = { environment, account, membership }
        return stored && (await loadFacts({ ...context, tx }, { ...owners, app: stored.app }))
      }))
    if (!readFacts) continue
    const { facts } = await readFacts(after)
    // Firing alerts are counted, and are no causes.
    const severe = diagnose(facts).filter(
      ({ severity, cause }) => severity === one.severity && cause !== 'alert-firing',
    )
    const causes = [...new Set(severe.map(({ cause }) => cause))].slice(0, mostCauses)
    found.push(causes.length === 0 ? one : { ...one, causes })
  }
  return found
}
