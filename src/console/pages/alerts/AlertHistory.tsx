import { useState } from 'react'
import { type AlertDetails, alertStates } from '../../../contract/alerts.ts'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { quantity } from '../../components/words.ts'
import { type Range, useSeries, windowOf } from '../environments/use-series.ts'
import { metricNames, stateNames, stateSpans, stateTones } from './alert-words.ts'
import { RangeSelect } from './RulePanel.tsx'
import { ThresholdChart } from './ThresholdChart.tsx'

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
              <Badge tone={stateTones[state]}>{stateNames[state]}</Badge>
            </li>
          ))}
        </ul>
      </div>
    </section>
  )
}

function StateBand({ alert, window }: { alert: AlertDetails; window: { fromMs: number; toMs: number } }) {
  const nowMs = Math.min(Date.now(), window.toMs)
  const spans = stateSpans(alert.stateHistory, alert.lastKnownState, {
    fromMs: Math.max(window.fromMs, Date.parse(alert.createdAt)),
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
          title={stateNames[state]}
          style={{ width: `${((toMs - fromMs) / (whole - (begins - window.fromMs))) * 100}%` }}
        />
      ))}
    </div>
  )
}

export function StateChanges({ alert: { stateHistory, unit } }: { alert: AlertDetails }) {
  return (
    <section className="panel" aria-labelledby="changes">
      <header>
        <h2 id="changes">State changes</h2>
        <span className="muted small">The last 20</span>
      </header>
      {stateHistory.length === 0 ? (
        <p className="body muted">The state has not changed yet.</p>
      ) : (
        <ScrollArea label="List of state changes">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">State</th>
                <th scope="col" className="number">
                  Value
                </th>
              </tr>
            </thead>
            <tbody>
              {newestFirst(stateHistory).map(({ at, from, to, value }) => (
                <tr key={`${at}${from}${to}`}>
                  <th scope="row">
                    <Time at={at} />
                  </th>
                  <td>
                    <Badge tone={stateTones[to]}>{stateNames[to]}</Badge>{' '}
                    <span className="muted small">after {stateNames[from]}</span>
                  </td>
                  <td className="number">{value === null ? '–' : quantity(value, unit)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </section>
  )
}

export function Deliveries({ alert: { notifications, contactPoints } }: { alert: AlertDetails }) {
  const names = new Map(contactPoints.map(({ contactPointId, name }) => [contactPointId, name]))
  return (
    <section className="panel" aria-labelledby="deliveries">
      <header>
        <h2 id="deliveries">Notifications</h2>
        <span className="muted small">The last 20 attempts</span>
      </header>
      {notifications.length === 0 ? (
        <p className="body muted">No notification has been sent yet.</p>
      ) : (
        <ScrollArea label="List of notifications">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Contact point</th>
                <th scope="col">Delivery</th>
              </tr>
            </thead>
            <tbody>
              {newestFirst(notifications).map(({ at, contactPointId, ok, reason }) => (
                <tr key={`${at}${contactPointId}`}>
                  <th scope="row">
                    <Time at={at} />
                  </th>
                  <td>{names.get(contactPointId) ?? <code>{contactPointId}</code>}</td>
                  <td>
                    <Badge tone={ok ? 'ok' : 'bad'}>{ok ? 'Delivered' : 'Failed'}</Badge>{' '}
                    <span className="small">{reason}</span>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </section>
  )
}

function newestFirst<Row extends { at: string }>(rows: readonly Row[]): Row[] {
  return [...rows].sort((a, b) => b.at.localeCompare(a.at))
}
