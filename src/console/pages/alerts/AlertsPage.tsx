import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { alertStates, listAlerts } from '../../../contract/alerts.ts'
import { getAccountHealth } from '../../../contract/diagnosis.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Pages } from '../../components/Pages.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { counted } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { AlertTable } from './AlertTable.tsx'
import { RecentNotifications } from './RecentNotifications.tsx'
import { stateNames } from './words.ts'

const pageSize = 100

/** Alerts of all environments that the reader may see, firing first. */
export function AlertsPage() {
  const { accountId } = useAccount()
  const { state, from: offset = 0 } = useSearch({ from: '/frame/alerts' })
  const navigate = useNavigate({ from: '/alerts' })
  const input = { accountId, state, limit: pageSize, offset }
  const { data, error, refetch } = useRead(listAlerts, input, { everyMs: everyMs.list, keep: true })
  const alerts = data?.alerts.map((alert) => ({ ...alert, envName: alert.envName ?? alert.appEnvId }))
  const show = (change: { state?: typeof state; from?: number }) =>
    navigate({ search: ({ account }) => ({ account, state, ...change }), replace: true })
  return (
    <>
      <PageHead total={state === undefined ? data?.pagination?.total : undefined} />
      <div className="stack">
        <section className="panel" aria-label="Alerts">
          <header>
            <select
              aria-label="State"
              value={state ?? ''}
              onChange={(event) => show({ state: (event.target.value || undefined) as typeof state })}
            >
              <option value="">Every state</option>
              {alertStates.map((one) => (
                <option key={one} value={one}>
                  {stateNames[one]}
                </option>
              ))}
            </select>
          </header>
          {error && !data && <Failed error={error} retry={() => refetch()} />}
          {!error && !data && <Loading rows={6} />}
          {alerts?.length === 0 && <NoAlerts filtered={state !== undefined} />}
          {alerts && alerts.length > 0 && <AlertTable alerts={alerts} isAcross />}
          {data?.pagination && (
            <Pages
              offset={offset}
              size={pageSize}
              total={data.pagination.total}
              go={(from) => show({ from: from || undefined })}
            />
          )}
        </section>
        {alerts?.some(({ contactPoints }) => contactPoints.length > 0) && (
          <RecentNotifications alerts={alerts} />
        )}
      </div>
    </>
  )
}

function PageHead({ total }: { total: number | undefined }) {
  const { accountId, name } = useAccount()
  const health = useRead(getAccountHealth, { accountId }, { everyMs: everyMs.list })
  const firing = health.data?.alerts.firing
  return (
    <div className="page-head">
      <PageTitle>Alerts</PageTitle>
      <span className="muted" role="status">
        {name}
        {total !== undefined && ` · ${counted(total, 'alert')}`}
        {firing !== undefined && ` · ${firing === 0 ? 'none' : firing} firing`}
      </span>
      <div className="actions">
        <Link to="/contact-points" search={({ account }) => ({ account })} className="button">
          Contact points
        </Link>
      </div>
    </div>
  )
}

function NoAlerts({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No alert is in this state">Choose another state.</Empty>
  return (
    <Empty title="No alerts yet">
      Open an environment and its Alerts tab to watch a metric and to be notified.
    </Empty>
  )
}
