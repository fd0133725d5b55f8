import { getAppEnvContainerSeries } from '../../../contract/measurements.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Chart } from '../../components/Chart.tsx'
import { Failed } from '../../components/states.tsx'
import { useEnvironment } from './environment.ts'
import { type Range, windowOf } from './use-series.ts'

/** By the step of each range. */
const startsUnits: Record<Range, string> = {
  hour: 'starts a minute',
  day: 'starts in 15 minutes',
  week: 'starts in 2 hours',
}

/** How many containers ran; for functions also scale-ups and cold starts. */
export function ContainerCharts({ range }: { range: Range }) {
  const { appEnvId, isFunction } = useEnvironment()
  const { fromMs, stepSeconds: step } = windowOf(range)
  const read = useRead(
    getAppEnvContainerSeries,
    { appEnvId, from: new Date(fromMs).toISOString(), step },
    { everyMs: everyMs.chart, keep: true },
  )
  if (read.error && !read.data) return <Failed error={read.error} hidesForbidden />
  const points = read.data?.points ?? []
  const line = (label: string, color: string, of: (point: (typeof points)[number]) => number) => ({
    label,
    color,
    points: points.map((point) => ({ t: point.t, value: of(point) })),
  })
  return (
    <>
      <Chart
        title="Containers"
        unit="running"
        series={[
          line('Most', '--chart-1', ({ most }) => most),
          line('Fewest', '--chart-3', ({ least }) => least),
        ]}
      />
      {isFunction && (
        <Chart
          title="Container starts"
          unit={startsUnits[range]}
          series={[
            line('Scale-ups', '--chart-1', ({ started, startedFromZero }) => started - startedFromZero),
            line('Cold starts', '--chart-2', ({ startedFromZero }) => startedFromZero),
          ]}
        />
      )}
    </>
  )
}
