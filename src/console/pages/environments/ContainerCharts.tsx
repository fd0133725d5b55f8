import { getAppEnvContainerSeries } from '../../../contract/measurements.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Chart } from '../../components/Chart.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { useEnvironment } from './environment.ts'
import { type Range, shownWindow, windowOf } from './use-series.ts'

/** By the step of each range. */
const startsUnits: Record<Range, string> = {
  hour: 'starts a minute',
  day: 'starts in 15 minutes',
  week: 'starts in 2 hours',
}

/**
 * The most containers that ran and should run, and the fewest that were ready; for functions also scale-ups
 * and cold starts.
 */
export function ContainerCharts({ range }: { range: Range }) {
  const { appEnvId, isFunction, createdAt } = useEnvironment()
  const { fromMs, stepSeconds: step } = windowOf(range)
  const read = useRead(
    getAppEnvContainerSeries,
    { appEnvId, from: new Date(fromMs).toISOString(), step },
    { everyMs: everyMs.chart, keep: true },
  )
  if (read.error && !read.data) return <Failed error={read.error} hidesForbidden />
  if (read.isPending) return <Loading rows={3} />
  const points = read.data?.points ?? []
  const line = (label: string, color: string, of: (point: (typeof points)[number]) => number | null) => ({
    label,
    color,
    points: points.flatMap((point) => {
      const value = of(point)
      return value === null ? [] : [{ t: point.t, value }]
    }),
  })
  const window = shownWindow(range, createdAt)
  return (
    <>
      <Chart
        title="Containers"
        unit="containers"
        window={window}
        stepped
        series={[
          line('Running', '--chart-1', ({ most }) => most),
          line('Should run', '--chart-3', ({ desired }) => desired),
          line('Ready', '--chart-2', ({ ready }) => ready),
        ]}
      />
      {isFunction && (
        <Chart
          title="Container starts"
          unit={startsUnits[range]}
          window={window}
          stepped
          series={[
            line('Scale-ups', '--chart-1', ({ started, startedFromZero }) => started - startedFromZero),
            line('Cold starts', '--chart-2', ({ startedFromZero }) => startedFromZero),
          ]}
        />
      )}
    </>
  )
}
