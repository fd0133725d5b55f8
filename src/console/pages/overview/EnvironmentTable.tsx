import { Link } from '@tanstack/react-router'
import { listAlerts } from '../../../contract/alerts.ts'
import type { listAppEnvs } from '../../../contract/app-envs.ts'
import { getAppEnvMetricsSeries } from '../../../contract/measurements.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Sparkline } from '../../components/Sparkline.tsx'
import { counted, quantity } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { StatusBadge } from '../environments/StatusBadge.tsx'
import { useWindow } from './use-window.ts'

export type EnvironmentRow = OutputOf<typeof listAppEnvs>['appEnvs'][number] & { appName: string }

const rowHeight = 45

/** Renders only visible rows, so that 5,000 environments scroll smoothly and only visible ones are polled. */
export function EnvironmentTable({ rows }: { rows: readonly EnvironmentRow[] }) {
  const { place, first, last } = useWindow(rows.length, rowHeight)
  return (
    <ScrollArea label="List of environments" place={place} style={{ maxHeight: 'calc(100vh - 190px)' }}>
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Environment</th>
            <th scope="col">Status</th>
            <th scope="col">Alerts</th>
            <th scope="col">Requests</th>
            <th scope="col">Errors</th>
            <th scope="col">Kind</th>
            <th scope="col" className="number">
              Version
            </th>
            <th scope="col">Region</th>
          </tr>
        </thead>
        <tbody>
          <Spacer rows={first} />
          {rows.slice(first, last).map((row, index) => (
            <Row key={row.appEnvId} row={row} index={first + index} />
          ))}
          <Spacer rows={rows.length - last} />
        </tbody>
      </table>
    </ScrollArea>
  )
}

function Spacer({ rows }: { rows: number }) {
  if (rows <= 0) return null
  return (
    <tr>
      <td colSpan={8} style={{ height: rows * rowHeight, padding: 0, border: 0 }} />
    </tr>
  )
}

function Row({ row, index }: { row: EnvironmentRow; index: number }) {
  return (
    <tr aria-rowindex={index + 2} style={{ height: rowHeight }}>
      <th scope="row" style={{ whiteSpace: 'nowrap' }}>
        <Link to="/environments/$envName" params={{ envName: row.cliEnvName }} search={{}}>
          {row.appName === '' ? row.cliEnvName : `${row.appName} / ${row.name}`}
        </Link>
      </th>
      <td>
        <StatusBadge environment={row} />
      </td>
      <td style={{ whiteSpace: 'nowrap' }}>
        <Firing appEnvId={row.appEnvId} />
      </td>
      <Traffic row={row} metric="ingress_request_rate" color="var(--chart-1)" />
      <Traffic row={row} metric="ingress_5xx_rate" color="var(--chart-2)" />
      <td className="muted">{kindOf(row)}</td>
      <td className="number">{row.currentVersion ?? '–'}</td>
      <td className="muted">{row.region}</td>
    </tr>
  )
}

/** One read for the whole account, which every row shares. */
function Firing({ appEnvId }: { appEnvId: string }) {
  const { accountId } = useAccount()
  const input = { accountId, state: 'Firing', limit: 1000 } as const
  const { data } = useRead(listAlerts, input, { everyMs: everyMs.chart })
  const firing = data?.alerts.filter((alert) => alert.appEnvId === appEnvId).length ?? 0
  if (firing === 0) return <span className="muted">{data ? 'None' : ''}</span>
  return <Badge tone="bad">{counted(firing, 'alert')} firing</Badge>
}

function Traffic({
  row,
  metric,
  color,
}: {
  row: EnvironmentRow
  metric: 'ingress_request_rate' | 'ingress_5xx_rate'
  color: string
}) {
  const measures = !databasePresets.has(row.dockerPreset) && row.dockerPreset !== 'JOB'
  const series = useRead(
    getAppEnvMetricsSeries,
    { appEnvId: row.appEnvId, metric, step: 120 },
    { everyMs: everyMs.chart, enabled: measures },
  )
  if (!measures) return <td className="muted">–</td>
  const values = series.data?.points.map(({ value }) => value) ?? []
  const unit = series.data?.unit ?? ''
  const now = values.at(-1) ?? 0
  const label = `${quantity(now, unit)} now, at most ${quantity(Math.max(0, ...values), unit)} in the last hour`
  return (
    <td>
      <div className="row" style={{ flexWrap: 'nowrap' }}>
        <Sparkline values={values} color={color} label={series.data ? label : 'Loading'} />
        <span className="small" style={{ whiteSpace: 'nowrap' }}>
          {series.data ? quantity(now, unit) : ''}
        </span>
      </div>
    </td>
  )
}

const databasePresets = new Set([
  'MONGODB',
  'POSTGRESQL',
  'MYSQL',
  'REDIS',
  'COUCHDB',
  'RABBITMQ',
  'CLICKHOUSE',
])

function kindOf({ dockerPreset }: EnvironmentRow): string {
  if (dockerPreset === 'FUNCTION') return 'Function'
  if (dockerPreset === 'JOB') return 'Job'
  return databasePresets.has(dockerPreset) ? `Database (${dockerPreset.toLowerCase()})` : 'App'
}
