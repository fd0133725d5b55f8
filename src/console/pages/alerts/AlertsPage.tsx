import { Link } from '@tanstack/react-router'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { counted } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { AlertTable } from './AlertTable.tsx'
import { RecentNotifications } from './RecentNotifications.tsx'
import { useAllAlerts } from './use-alerts.ts'

/** Alerts of all environments that the reader may see, firing first. */
export function AlertsPage() {
  const { accountId, name } = useAccount()
  const { data, error } = useAllAlerts(accountId)
  const firing = data?.filter(({ enabled, lastKnownState }) => enabled && lastKnownState === 'Firing').length
  return (
    <>
      <div className="page-head">
        <h1>Alerts</h1>
        <span className="muted" role="status">
          {name}
          {data && ` · ${counted(data.length, 'alert')}, ${firing === 0 ? 'none' : firing} firing`}
        </span>
        <div className="actions">
          <Link to="/contact-points" search={({ account }) => ({ account })} className="button">
            Contact points
          </Link>
        </div>
      </div>
      <div className="stack">
        <section className="panel" aria-label="Alerts">
          {error && !data && <Failed error={error} />}
          {!error && !data && <Loading rows={6} />}
          {data?.length === 0 && (
            <Empty title="No alerts yet">
              Open an environment and its Alerts tab to watch a metric and to be notified.
            </Empty>
          )}
          {data && data.length > 0 && <AlertTable alerts={data} isAcross />}
        </section>
        {data?.some(({ contactPoints }) => contactPoints.length > 0) && <RecentNotifications alerts={data} />}
      </div>
    </>
  )
}
