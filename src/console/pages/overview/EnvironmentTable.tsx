import { Link } from '@tanstack/react-router'
import { createContext, useContext, useEffect, useRef, useState } from 'react'
import { listAlerts } from '../../../contract/alerts.ts'
import { listAppEnvs } from '../../../contract/app-envs.ts'
import { databasePresetNames } from '../../../contract/fields.ts'
import { getAppEnvMetricsSeries } from '../../../contract/measurements.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Sparkline } from '../../components/Sparkline.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { quantity, whole } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { StatusBadge } from '../environments/StatusBadge.tsx'

export type EnvironmentRow = OutputOf<typeof listAppEnvs>['appEnvs'][number] & { appName: string }

const region: Column<EnvironmentRow> = {
  title: 'Region',
  kind: 'muted nowrap wide',
  cell: (row) => row.region,
}

const columns: readonly Column<EnvironmentRow>[] = [
  {
    title: 'Environment',
    kind: 'nowrap',
    cell: ({ cliEnvName, appName, name }) => (
      <Link
        to="/environments/$envName"
        params={{ envName: cliEnvName }}
        search={({ account }) => ({ account })}
      >
        {appName === '' ? cliEnvName : `${appName} / ${name}`}
      </Link>
    ),
  },
  { title: 'Status', cell: (row) => <Status row={row} /> },
  { title: 'Alerts', kind: 'nowrap', cell: ({ appEnvId }) => later(<Firing appEnvId={appEnvId} />) },
  {
    title: 'Requests',
    kind: 'wide',
    cell: (row) => later(<Traffic row={row} metric="ingress_request_rate" color="var(--chart-1)" />),
  },
  {
    title: 'Errors',
    kind: 'wide',
    cell: (row) => later(<Traffic row={row} metric="ingress_5xx_rate" color="var(--chart-2)" />),
  },
  { title: 'Kind', kind: 'muted nowrap wide', cell: kindOf },
  { title: 'Version', kind: 'number wide', cell: ({ currentVersion }) => currentVersion ?? '–' },
]

/** Constant, because rows are rendered again when their columns change. */
const columnsWithRegion = [...columns, region]

export function EnvironmentTable({ rows }: { rows: readonly EnvironmentRow[] }) {
  const hasRegions = rows.some((row) => row.region !== rows[0]?.region)
  const isPainted = usePainted()
  const { isMoving, onScrollCapture } = useMoving()
  return (
    <MayRead value={isPainted && !isMoving}>
      <div onScrollCapture={onScrollCapture}>
        <Table
          label="List of environments"
          columns={hasRegions ? columnsWithRegion : columns}
          rows={rows}
          keyOf={({ appEnvId }) => appEnvId}
          rowHeight={45}
          maxHeight="calc(100vh - 190px)"
        />
      </div>
    </MayRead>
  )
}

/**
 * Whether new rows may read: not until the list has been painted, because the page takes clicks first, and not while it
 * scrolls, because hundreds of rows pass on the way through a long list.
 */
const MayRead = createContext(false)

/** A row that has begun to read continues. */
function useReads(): boolean {
  const mayRead = useContext(MayRead)
  const [reads, setReads] = useState(mayRead)
  if (mayRead && !reads) setReads(true)
  return reads
}

const stillMs = 150

/** Whether something inside scrolled a moment ago. */
function useMoving() {
  const [isMoving, setIsMoving] = useState(false)
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const onScrollCapture = () => {
    setIsMoving(true)
    clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setIsMoving(false), stillMs)
  }
  return { isMoving, onScrollCapture }
}

function usePainted(): boolean {
  const [isPainted, setIsPainted] = useState(false)
  useEffect(() => {
    let timer: number | undefined
    // The frame begins before the paint; the timer runs after it.
    const frame = requestAnimationFrame(() => {
      timer = window.setTimeout(() => setIsPainted(true))
    })
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(timer)
    }
  }, [])
  return isPainted
}

const later = (cell: React.ReactNode) => <Later>{cell}</Later>

function Later({ children }: { children: React.ReactNode }) {
  return useReads() ? children : null
}

function Status({ row }: { row: EnvironmentRow }) {
  const reads = useReads()
  return (
    <>
      <StatusBadge environment={row} isLive={reads} />
      {reads && row.status !== 'STOPPED' && <Attention appEnvId={row.appEnvId} />}
    </>
  )
}

/** What the page of the environment and the shell call a problem. One read, which every row shares. */
function Attention({ appEnvId }: { appEnvId: string }) {
  const { accountId } = useAccount()
  const input = { accountId, healthy: false, limit: 1000 } as const
  const { data } = useRead(listAppEnvs, input, { everyMs: everyMs.chart })
  const isIll = data?.appEnvs.some((one) => one.appEnvId === appEnvId) ?? false
  return isIll ? <Badge tone="bad">Needs attention</Badge> : null
}

/** One read for the whole account, which every row shares. */
function Firing({ appEnvId }: { appEnvId: string }) {
  const { accountId } = useAccount()
  const input = { accountId, state: 'Firing', limit: 1000 } as const
  const { data } = useRead(listAlerts, input, { everyMs: everyMs.chart })
  const firing = data?.alerts.filter((alert) => alert.appEnvId === appEnvId).length ?? 0
  if (firing === 0) return <span className="muted">{data ? 'None' : ''}</span>
  return <Badge tone="bad">{whole(firing)} firing</Badge>
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
  if (!measures) return <span className="muted">–</span>
  if (series.error && !series.data) return <span className="muted small">Cannot be read</span>
  const points = series.data?.points ?? []
  const values = points.map(({ value }) => value)
  const unit = series.data?.unit ?? ''
  const now = values.at(-1) ?? 0
  const label = `${quantity(now, unit)} now, at most ${quantity(Math.max(0, ...values), unit)} in the last hour`
  return (
    <div className="row" style={{ flexWrap: 'nowrap' }}>
      <Sparkline points={points} color={color} label={series.data ? label : 'Loading'} />
      <span className="small nowrap">{series.data ? quantity(now, unit) : ''}</span>
    </div>
  )
}

const databasePresets = new Set<string>(databasePresetNames)

function kindOf({ dockerPreset }: EnvironmentRow): string {
  if (dockerPreset === 'FUNCTION') return 'Function'
  if (dockerPreset === 'JOB') return 'Job'
  return databasePresets.has(dockerPreset) ? 'Database' : 'App'
}
