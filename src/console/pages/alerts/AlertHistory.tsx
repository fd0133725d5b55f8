import { useState } from 'react'
import {
  type AlertDetails,
  alertStates,
  listAlertNotifications,
  listAlertStateChanges,
} from '../../../contract/alerts.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Pages } from '../../components/Pages.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { exactTime, quantity } from '../../components/words.ts'
import { type Range, useSeries, windowOf } from '../environments/use-series.ts'
import { delivery, sentAt } from './delivery-columns.tsx'
import { RangeSelect } from './RulePanel.tsx'
import { ThresholdChart } from './ThresholdChart.tsx'
import { metricNames, stateNames, stateSpans, stateTones } from './words.ts'

/** The metric against the threshold, and below it the states of the alert on the same time axis. */
export function StatePanel({ alert }: { alert: AlertDetails }) {
  const { appEnvId, metric, aggregation, unit } = alert
  const [range, setRange] = useState<Range>('hour')
  const series = useSeries(appEnvId, metric, range)
  const window = windowOf(range)
  const points = (series.data?.points ?? []).map(({ t, ...point }) => ({
    t,
    value: aggregation === 'mean' ? point.value : point[aggregation],
  }))
  return (
    <section className="panel" aria-labelledby="state">
      <header>
        <h2 id="state">State over time</h2>
        <span className="muted small">{metricNames[metric]}</span>
        <div className="actions">
          <RangeSelect range={range} set={setRange} />
        </div>
      </header>
      <div className="body stack">
        {series.isPending && <Loading rows={5} />}
        {series.error && !series.data && <Failed error={series.error} hidesForbidden />}
        {series.data && (
          <ThresholdChart
            label={metricNames[metric]}
            unit={unit}
            points={points}
            window={window}
            threshold={alert.threshold}
            operator={alert.operator}
          >
            <StateBand alert={alert} window={window} />
          </ThresholdChart>
        )}
        <ul className="row small">
          {alertStates.map((state) => (
            <li key={state}>
              <span className="state-band swatch" aria-hidden="true">
                <span className={`tone-${stateTones[state]}`} />
              </span>{' '}
              <Badge tone={stateTones[state]}>{stateNames[state]}</Badge>
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}

/** More than the evaluation of a day makes; the state before them is not known, and left out. */
const mostChanges = 2_000

function StateBand({ alert, window }: { alert: AlertDetails; window: { fromMs: number; toMs: number } }) {
  const { alertId, lastKnownState } = alert
  const from = isoOf(window.fromMs)
  const input = { alertId, from, limit: mostChanges }
  const read = useRead(listAlertStateChanges, input, { everyMs: everyMs.chart, keep: true })
  if (read.error && !read.data) return <Failed error={read.error} hidesForbidden />
  const nowMs = Math.min(Date.now(), window.toMs)
  const spans = stateSpans(read.data?.changes ?? alert.stateHistory, lastKnownState, {
    fromMs: Math.max(window.fromMs, Date.parse(read.data?.completeFrom ?? alert.createdAt)),
    toMs: nowMs,
  })
  const whole = window.toMs - window.fromMs
  const begins = spans[0]?.fromMs ?? nowMs
  return (
    <div
      className="state-band"
      role="img"
      aria-label={`States: ${spans.map(({ state }) => stateNames[state]).join(', then ')}`}
      style={{ paddingLeft: `${((begins - window.fromMs) / whole) * 100}%` }}
    >
      {spans.map(({ state, fromMs, toMs }) => (
        <span
          key={fromMs}
          className={`tone-${stateTones[state]}`}
          title={`${stateNames[state]}: ${exactTime(isoOf(fromMs))} to ${exactTime(isoOf(toMs))}`}
          style={{ width: `${((toMs - fromMs) / (whole - (begins - window.fromMs))) * 100}%` }}
        />
      ))}
    </div>
  )
}

const isoOf = (ms: number) => new Date(ms).toISOString()

const pageSize = 20

export function StateChanges({ alert: { alertId, stateHistory, unit } }: { alert: AlertDetails }) {
  const [offset, setOffset] = useState(0)
  const input = { alertId, limit: pageSize, offset }
  const read = useRead(listAlertStateChanges, input, { everyMs: everyMs.chart, keep: true })
  const rows = read.data?.changes ?? stateHistory
  return (
    <section className="panel" aria-labelledby="changes">
      <header>
        <h2 id="changes">State changes</h2>
        <span className="muted small">Of the last 31 days, newest first</span>
      </header>
      {rows.length === 0 ? (
        <p className="body muted">The state has not changed yet.</p>
      ) : (
        <Table
          label="List of state changes"
          columns={[
            { title: 'When', cell: ({ at }) => <Time at={at} /> },
            {
              title: 'State',
              cell: ({ from, to }) => (
                <>
                  <Badge tone={stateTones[to]}>{stateNames[to]}</Badge>{' '}
                  <span className="muted small">after {stateNames[from]}</span>
                </>
              ),
            },
            {
              title: 'Value',
              kind: 'number',
              cell: ({ value }) => (value === null ? '–' : quantity(value, unit)),
            },
          ]}
          rows={newestFirst(rows)}
          keyOf={({ at, from, to }) => `${at}${from}${to}`}
        />
      )}
      {read.data && (
        <Pages offset={offset} size={pageSize} total={read.data.pagination.total} go={setOffset} />
      )}
    </section>
  )
}

export function Deliveries({ alert: { alertId, contactPoints } }: { alert: AlertDetails }) {
  const [offset, setOffset] = useState(0)
  const input = { alertId, limit: pageSize, offset }
  const read = useRead(listAlertNotifications, input, { everyMs: everyMs.chart, keep: true })
  const { notifications, pagination } = read.data ?? {}
  const names = new Map(contactPoints.map(({ contactPointId, name }) => [contactPointId, name]))
  return (
    <section className="panel" aria-labelledby="deliveries">
      <header>
        <h2 id="deliveries">Notifications</h2>
        <span className="muted small">Attempts of the last 7 days, newest first</span>
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading rows={2} />}
      {notifications?.length === 0 && <p className="body muted">No notification has been sent yet.</p>}
      {notifications && notifications.length > 0 && (
        <Table
          label="List of notifications"
          columns={[
            sentAt,
            {
              title: 'Contact point',
              cell: ({ contactPointId }) => names.get(contactPointId) ?? <code>{contactPointId}</code>,
            },
            delivery,
          ]}
          rows={notifications}
          keyOf={({ at, contactPointId }) => `${at}${contactPointId}`}
        />
      )}
      {pagination && <Pages offset={offset} size={pageSize} total={pagination.total} go={setOffset} />}
    </section>
  )
}

function newestFirst<Row extends { at: string }>(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => b.at.localeCompare(a.at))
}
