import { useNavigate, useSearch } from '@tanstack/react-router'
import { lazy, Suspense, useDeferredValue, useMemo, useState } from 'react'
import { listApps } from '../../../contract/apps.ts'
import { useRead } from '../../api/queries.ts'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { counted, whole } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { untilLoaded } from '../../until-loaded.ts'
import { statusNames } from '../environments/status-words.ts'
import { type EnvironmentRow, EnvironmentTable } from './EnvironmentTable.tsx'
import { Glance } from './Glance.tsx'
import { matching } from './matching.ts'
import { useEnvironments } from './use-environments.ts'

const FirstRun = lazy(() =>
  untilLoaded(() => import('../start/FirstRun.tsx')).then((module) => ({ default: module.FirstRun })),
)

/** All environments of the account that the reader can access, with live status. */
export function OverviewPage() {
  const { accountId, name } = useAccount()
  const environments = useEnvironments(accountId)
  const apps = useRead(listApps, { accountId }, { everyMs: 15_000 })
  // Keep showing the first run after its sample exists, so that its progress stays visible.
  const [isFirstRun, setIsFirstRun] = useState(false)
  const rows = useMemo(() => {
    const appNames = new Map(apps.data?.apps.map((app) => [app.appId, app.name]))
    return (environments.data ?? []).map(
      (one): EnvironmentRow => ({ ...one, appName: appNames.get(one.appId) ?? '' }),
    )
  }, [environments.data, apps.data])
  if (environments.error && !environments.data)
    return <Failed error={environments.error} retry={() => environments.refetch()} />
  const isEmpty = environments.data !== undefined && rows.length === 0
  return (
    <>
      <div className="page-head">
        <PageTitle>Environments</PageTitle>
        <span className="muted">
          {name}
          {environments.isComplete && ` · ${isEmpty ? 'none yet' : summaryOf(rows)}`}
        </span>
      </div>
      {(isEmpty || isFirstRun) && (
        <Suspense fallback={<Loading rows={6} />}>
          <FirstRun onCreated={() => setIsFirstRun(true)} />
        </Suspense>
      )}
      <div className="stack">
        {rows.length > 0 && <Glance rows={rows} />}
        {!isEmpty && <EnvironmentList rows={rows} isComplete={environments.isComplete} />}
      </div>
    </>
  )
}

function EnvironmentList({ rows, isComplete }: { rows: readonly EnvironmentRow[]; isComplete: boolean }) {
  const search = useSearch({ from: '/frame/' })
  const navigate = useNavigate({ from: '/' })
  const find = useDeferredValue(search.find ?? '')
  const shown = useMemo(() => matching(rows, find, search.status), [rows, find, search.status])
  const set = (change: { find?: string; status?: string }) =>
    navigate({ search: (before) => ({ ...before, ...change }), replace: true })
  return (
    <section className="panel" aria-label="Environments">
      <header>
        <input
          type="search"
          aria-label="Search environments"
          placeholder="Name, app or region"
          value={search.find ?? ''}
          onChange={(event) => set({ find: event.target.value || undefined })}
        />
        <select
          aria-label="Status"
          value={search.status ?? ''}
          onChange={(event) => set({ status: event.target.value || undefined })}
        >
          <option value="">Every status</option>
          {Object.entries(statusNames).map(([status, label]) => (
            <option key={status} value={status}>
              {label}
            </option>
          ))}
        </select>
        <span className="muted small" role="status">
          {!isComplete && rows.length > 0 && 'Loading the rest'}
          {isComplete &&
            shown.length !== rows.length &&
            `${whole(shown.length)} of ${counted(rows.length, 'environment')}`}
        </span>
      </header>
      {shown.length === 0 && !isComplete && <Loading rows={6} />}
      {rows.length > 0 && shown.length === 0 && isComplete && (
        <Empty title="No environment matches">Change the search or the status.</Empty>
      )}
      {shown.length > 0 && <EnvironmentTable rows={shown} />}
    </section>
  )
}

function summaryOf(rows: readonly EnvironmentRow[]): string {
  const count = (status: string) => rows.filter((row) => row.status === status).length
  const moving = count('PENDING') + count('UPDATING')
  return [
    `${whole(count('RUNNING'))} running`,
    ...(moving > 0 ? [`${whole(moving)} deploying`] : []),
    `${whole(count('STOPPED'))} stopped`,
  ].join(', ')
}
