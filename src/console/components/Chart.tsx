import { useEffect, useMemo, useRef } from 'react'
import uPlot from 'uplot'
import { exactTime, quantity } from './words.ts'

interface ChartSeries {
  label: string
  /** A custom property such as `--chart-1`. */
  color: string
  /** `t`: an ISO time, or a number as text where the chart is `across` something else. */
  points: readonly { t: string; value: number }[]
}

interface TimeWindow {
  fromMs: number
  toMs: number
}

interface Props {
  title: string
  unit: string
  series: readonly ChartSeries[]
  /** Label of a horizontal axis other than time; each step doubles. */
  across?: string
  /** The time that is shown, also where there is no data. */
  window?: TimeWindow
  /** Values count from one point to the next, like numbers of containers. */
  stepped?: boolean
}

/** Series over time with the newest values in words, also for screen readers. */
export function Chart({ title, unit, series, across, window, stepped = false }: Props) {
  const summary = series.map(({ label, points }) => {
    const values = points.map(({ value }) => value)
    if (values.length === 0) return `${label}: no data`
    if (across !== undefined) {
      const at = (point = points[0]!) => `${quantity(point.value, unit)} at ${point.t}`
      return `${label}: ${at()}${points.length > 1 ? `, ${at(points.at(-1))}` : ''}`
    }
    // Not "now": without requests there is no latency, so the newest value can be old.
    return `${label}: latest ${quantity(values.at(-1)!, unit)}, at most ${quantity(Math.max(...values), unit)}`
  })
  return (
    <figure className="panel">
      <header>
        <h3>{title}</h3>
        <span className="muted small">
          {unitWords[unit] ?? unit}
          {across && ` by ${across}`}
        </span>
      </header>
      <div className="body">
        <Plot
          series={series}
          unit={unit}
          label={`${title}. ${summary.join('. ')}`}
          isTime={across === undefined}
          window={window}
          stepped={stepped}
        />
        <figcaption className="row small">
          {series.map(({ label, color }, index) => (
            <span key={label} className="row" style={{ flexWrap: 'nowrap' }}>
              <svg width="14" height="8" aria-hidden="true" style={{ flex: 'none' }}>
                <path
                  d="M0 4H14"
                  stroke={`var(${color})`}
                  strokeWidth="2.5"
                  strokeDasharray={dashes[index]?.join(' ')}
                />
              </svg>
              <span className="muted">{summary[index]}</span>
            </span>
          ))}
        </figcaption>
      </div>
    </figure>
  )
}

/** Dashes of the second and the third series, so that they differ not only in color. */
const dashes: readonly (number[] | undefined)[] = [undefined, [4, 3], [1, 3]]

const plain = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 })

const unitWords: Record<string, string> = {
  'req/s': 'requests per second',
  'err/s': 'errors per second',
  '%': 'percent',
  containers: 'at the same time',
  s: 'duration',
}

/** The values under the pointer, with the exact time or the place on another axis. */
export function readoutAt(
  index: number,
  [places, ...columns]: uPlot.AlignedData,
  { series, unit, isTime }: Pick<PlotProps, 'series' | 'unit' | 'isTime'>,
): string {
  const place = places[index]
  if (place === undefined) return ''
  const values = series.flatMap(({ label }, column) => {
    const value = columns[column]?.[index]
    return typeof value === 'number' ? [`${label}: ${quantity(value, unit)}`] : []
  })
  const at = isTime ? exactTime(new Date(place * 1000).toISOString()) : plain.format(place)
  return [at, ...values].join('\n')
}

interface PlotProps {
  series: readonly ChartSeries[]
  unit: string
  label: string
  isTime: boolean
  window: TimeWindow | undefined
  stepped: boolean
}

function Plot({ series, unit, label, isTime, window, stepped }: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const readout = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const data = useMemo(() => alignedData(series, isTime), [series, isTime])
  const newest = useRef(data)
  newest.current = data
  const shown = useRef(window)
  shown.current = window
  const shape = series.map(({ label: name, color }) => `${name}${color}${unit}`).join()
  // biome-ignore lint/correctness/useExhaustiveDependencies: `shape` contains the relevant parts of the series
  useEffect(() => {
    const element = place.current
    if (!element) return
    const made = new uPlot(
      {
        ...optionsFor({ series, unit, isTime, stepped, windowNow: () => shown.current }, element),
        hooks: { setCursor: [(at) => show(at, readout.current, { series, unit, isTime })] },
      },
      newest.current,
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: 170 }))
    observer.observe(element)
    // A canvas does not follow custom properties.
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const redraw = () => made.redraw()
    scheme.addEventListener('change', redraw)
    const theme = new MutationObserver(redraw)
    theme.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => {
      theme.disconnect()
      scheme.removeEventListener('change', redraw)
      observer.disconnect()
      made.destroy()
    }
  }, [shape])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new window draws the same data elsewhere
  useEffect(() => plot.current?.setData(data), [data, window?.fromMs, window?.toMs])
  return (
    <div ref={place} className="chart" role="img" aria-label={label}>
      <div ref={readout} className="readout small" hidden />
    </div>
  )
}

function show({ cursor, data }: uPlot, readout: HTMLElement | null, shown: Parameters<typeof readoutAt>[2]) {
  if (!readout) return
  const text = typeof cursor.idx === 'number' ? readoutAt(cursor.idx, data, shown) : ''
  readout.textContent = text
  readout.hidden = text === ''
}

/** One column of places on the horizontal axis, and a value or a gap for each series. */
function alignedData(series: readonly ChartSeries[], isTime: boolean): uPlot.AlignedData {
  const place = (t: string) => (isTime ? Date.parse(t) / 1000 : Number(t))
  const times = [...new Set(series.flatMap(({ points }) => points.map(({ t }) => place(t))))].sort(
    (a, b) => a - b,
  )
  const columns = series.map(({ points }) => {
    const byTime = new Map(points.map(({ t, value }) => [place(t), value]))
    return times.map((time) => byTime.get(time) ?? null)
  })
  return [times, ...columns]
}

/** Two minutes around the only sample, or now: the library's own range of one sample is almost three years. */
export function timeAround(sample = Date.now() / 1000): [number, number] {
  return [sample - 60, sample + 60]
}

function rangeOf(
  window: TimeWindow | undefined,
  times: ArrayLike<number>,
  min: number,
  max: number,
): [number, number] {
  if (window) return [window.fromMs / 1000, window.toMs / 1000]
  return times.length > 1 ? [min, max] : timeAround(times[0])
}

/** Labels of the vertical axis: short durations in milliseconds, which fit beside the axis. */
export function axisLabel(value: number, unit: string): string {
  return unit === 's' ? quantity(value, unit) : plain.format(value)
}

function isLone(plot: uPlot, index: number): boolean {
  return Array.from(plot.data[index]!).filter((value) => value !== null).length === 1
}

interface Drawing extends Pick<PlotProps, 'series' | 'unit' | 'isTime' | 'stepped'> {
  windowNow: () => TimeWindow | undefined
}

function optionsFor(drawing: Drawing, element: HTMLElement): uPlot.Options {
  const { series, unit, isTime, stepped, windowNow } = drawing
  // Resolves light-dark() too: a canvas needs the color itself.
  const color = (property: string) => () => {
    element.style.color = `var(${property})`
    const found = getComputedStyle(element).color
    element.style.color = ''
    return found
  }
  const axis = {
    stroke: color('--muted'),
    grid: { stroke: color('--line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width: element.clientWidth,
    height: 170,
    legend: { show: false },
    cursor: { y: false },
    scales: {
      x: isTime
        ? {
            time: true,
            range: ({ data }, min, max) => rangeOf(windowNow(), data[0], min, max),
          }
        : { time: false, distr: 3, log: 2 },
      y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        ...(isTime ? {} : { values: (_plot, values) => values.map((value) => plain.format(value)) }),
      },
      { ...axis, size: 52, values: (_plot, values) => values.map((value) => axisLabel(value, unit)) },
    ],
    series: [
      {},
      ...series.map(({ label, color: property }, index) => ({
        label,
        stroke: color(property),
        width: 1.75,
        spanGaps: false,
        // A point is the end of its step.
        ...(stepped ? { paths: uPlot.paths.stepped!({ align: -1 }) } : {}),
        // A line needs two points.
        points: { show: isTime ? isLone : true },
        ...(dashes[index] ? { dash: dashes[index] } : {}),
      })),
    ],
  }
}
