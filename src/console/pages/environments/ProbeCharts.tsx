import type { ProbeLevel } from '../../../contract/function-probe.ts'
import { Chart } from '../../components/Chart.tsx'

/** Latency, throughput and containers by the number of requests at a time. */
export function ProbeCharts({ levels }: { levels: readonly ProbeLevel[] }) {
  const line = (label: string, color: string, of: (level: ProbeLevel) => number) => ({
    label,
    color,
    points: levels.map((level) => ({ t: String(level.concurrency), value: of(level) })),
  })
  const across = 'requests at a time'
  return (
    <div className="charts">
      <Chart
        title="Latency"
        unit="s"
        across={across}
        series={[
          line('Median', '--chart-1', ({ p50Seconds }) => p50Seconds),
          line('95th percentile', '--chart-3', ({ p95Seconds }) => p95Seconds),
        ]}
      />
      <Chart
        title="Throughput"
        unit="req/s"
        across={across}
        series={[line('Answered', '--chart-1', ({ requestsPerSecond }) => requestsPerSecond)]}
      />
      <Chart
        title="Containers"
        unit="containers"
        across={across}
        series={[line('At most', '--chart-3', ({ containers }) => containers)]}
      />
    </div>
  )
}
