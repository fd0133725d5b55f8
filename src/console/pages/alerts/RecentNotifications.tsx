import { useQueries } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type AlertDetails, getAlert } from '../../../contract/alerts.ts'
import type { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { everyMs } from '../../api/queries.ts'
import { Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { delivery, sentAt } from './delivery-columns.tsx'
import type { AlertRow } from './use-alerts.ts'
import { byUrgency, newestWords } from './words.ts'

/** Each alert is one read: only the most urgent ones are looked at. */
const mostAlerts = 10
const mostShown = 20

/** Delivery results of the newest notifications, for the most urgent alerts. */
export function RecentNotifications({ alerts }: { alerts: readonly AlertRow[] }) {
  const notifying = byUrgency(alerts.filter(({ contactPoints }) => contactPoints.length > 0))
  const watched = notifying.slice(0, mostAlerts)
  const reads = useQueries({
    queries: watched.map(({ alertId }) => ({
      queryKey: [getAlert.id, { alertId }],
      queryFn: ({ signal }: { signal: AbortSignal }): Promise<AlertDetails> =>
        client.call(getAlert, { alertId }, { signal }),
      refetchInterval: everyMs.chart,
    })),
  })
  const rows = reads
    .flatMap(({ data }, index) => (data ? sentBy(data, watched[index]!.envName) : []))
    .sort((a, b) => b.at.localeCompare(a.at))
    .slice(0, mostShown)
  const failed = reads.find(({ error, data }) => error && !data)?.error as AppError | undefined
  const isLoading = reads.some(({ isPending }) => isPending)
  return (
    <section className="panel" aria-labelledby="notifications">
      <header>
        <h2 id="notifications">Notifications</h2>
        <span className="muted small">{newestWords(mostShown, watched.length, notifying.length)}</span>
      </header>
      {failed && rows.length === 0 && <Failed error={failed} hidesForbidden />}
      {isLoading && rows.length === 0 && <Loading rows={2} />}
      {!failed && !isLoading && rows.length === 0 && (
        <p className="body muted">No notification has been sent yet.</p>
      )}
      {rows.length > 0 && (
        <Table
          label="List of notifications"
          columns={columns}
          rows={rows}
          keyOf={({ at, alertId, to }) => `${at}${alertId}${to}`}
        />
      )}
    </section>
  )
}

interface Sent {
  at: string
  ok: boolean
  reason: string | undefined
  to: string
  alertId: string
  alert: string
  envName: string
}

function sentBy({ alertId, name, contactPoints, notifications }: AlertDetails, envName: string): Sent[] {
  const names = new Map(contactPoints.map((point) => [point.contactPointId, point.name]))
  return notifications.map(({ at, ok, reason, contactPointId }) => {
    const to = names.get(contactPointId) ?? contactPointId
    return { at, ok, reason, to, alertId, alert: name, envName }
  })
}

const columns: Column<Sent>[] = [
  sentAt,
  {
    title: 'Alert',
    cell: ({ alert, alertId, envName }) => (
      <Link
        to="/environments/$envName/alerts/$alertId"
        params={{ envName, alertId }}
        search={({ account }) => ({ account })}
      >
        {alert}
      </Link>
    ),
  },
  { title: 'Contact point', cell: ({ to }) => to },
  delivery,
]
