import { Link } from '@tanstack/react-router'
import { listAlerts } from '../../../contract/alerts.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { AlertTable } from './AlertTable.tsx'
import { useIsAdmin } from './use-alerts.ts'

/** Alerts of one environment. */
export function EnvironmentAlertsPage() {
  const { appEnvId, accountId, cliEnvName: envName } = useEnvironment()
  const read = useRead(listAlerts, { appEnvId }, { everyMs: everyMs.status })
  const isAdmin = useIsAdmin(accountId)
  const alerts = read.data?.alerts.map((alert) => ({ ...alert, envName }))
  return (
    <section className="panel" aria-labelledby="alerts">
      <header>
        <h2 id="alerts">Alerts</h2>
        {isAdmin && (
          <div className="actions">
            <Link
              to="/environments/$envName/alerts/new"
              params={{ envName }}
              search={({ account }) => ({ account })}
              className="button"
            >
              New alert
            </Link>
          </div>
        )}
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading />}
      {alerts?.length === 0 && (
        <Empty title="No alerts">
          {isAdmin
            ? 'An alert watches one metric of this environment and notifies contact points.'
            : 'Admins of the account create alerts.'}
        </Empty>
      )}
      {alerts && alerts.length > 0 && <AlertTable alerts={alerts} />}
    </section>
  )
}
