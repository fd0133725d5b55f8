import { useState } from 'react'
import type { Metric } from '../../../contract/metrics.ts'
import { Chart } from '../../components/Chart.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { ContainerCharts } from './ContainerCharts.tsx'
import { useEnvironment } from './environment.ts'
import { type Range, rangeNames, shownWindow, useSeries } from './use-series.ts'

interface Line {
  metric: Metric
  label: string
  color: string
}

const traffic: [string, Line[]][] = [
  ['Requests', [{ metric: 'ingress_request_rate', label: 'Requests', color: '--chart-1' }]],
  [
    'Errors',
    [
      { metric: 'ingress_5xx_rate', label: '5xx', color: '--chart-2' },
      { metric: 'ingress_4xx_rate', label: '4xx', color: '--chart-3' },
    ],
  ],
  [
    'Latency',
    [
      { metric: 'ingress_p95_latency', label: '95th percentile', color: '--chart-1' },
      { metric: 'ingress_p99_latency', label: '99th percentile', color: '--chart-3' },
    ],
  ],
]
const resources: [string, Line[]][] = [
  ['CPU of the limit', [{ metric: 'cpu_percent', label: 'CPU', color: '--chart-1' }]],
  ['Memory of the limit', [{ metric: 'memory_percent', label: 'Memory', color: '--chart-3' }]],
]

/** Containers; traffic of apps and functions; CPU and memory, except for functions (F9). */
export function TrafficCharts() {
  const { isFunction, isDatabase, isJob } = useEnvironment()
  const [range, setRange] = useState<Range>('hour')
  const groups = [...(isDatabase || isJob ? [] : traffic), ...(isFunction ? [] : resources)]
  return (
    <section className="stack" aria-label="Measurements">
      <div className="row">
        <h2>Measurements</h2>
        <select aria-label="Period" value={range} onChange={(event) => setRange(event.target.value as Range)}>
          {Object.entries(rangeNames).map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
        {isFunction && <span className="muted small">CPU and memory are not measured for functions.</span>}
      </div>
      <div className="charts">
        <ContainerCharts range={range} />
        {groups.map(([title, lines]) => (
          <MetricChart key={title} title={title} lines={lines} range={range} />
        ))}
      </div>
    </section>
  )
}

function MetricChart({ title, lines, range }: { title: string; lines: Line[]; range: Range }) {
  const { appEnvId, createdAt } = useEnvironment()
  const first = useSeries(appEnvId, lines[0]!.metric, range)
  const second = useSeries(appEnvId, lines[1]?.metric ?? lines[0]!.metric, range)
  const failed = [first, second].find(({ error, data }) => error && !data)?.error
  if (failed) return <Failed error={failed} hidesForbidden />
  if (first.isPending || second.isPending) return <Loading rows={3} />
  const series = lines.map(({ label, color }, index) => ({
    label,
    color,
    points: (index === 0 ? first : second).data?.points ?? [],
  }))
  return (
    <Chart
      title={title}
      unit={first.data?.unit ?? ''}
      series={series}
      window={shownWindow(range, createdAt)}
    />
  )
}
