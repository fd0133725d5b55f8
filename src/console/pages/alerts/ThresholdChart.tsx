import { useId, useRef, useState } from 'react'
import { quantity, shortTime } from '../../components/words.ts'
import { movedByKey, type Scale, scaleOf, valueAt } from './scale.ts'

interface Props {
  /** Name of the metric. */
  label: string
  unit: string
  points: readonly { t: string; value: number }[]
  window: { fromMs: number; toMs: number }
  threshold: number
  operator: 'gt' | 'lt'
  /** Times at which the rule would have fired. */
  marks?: readonly string[]
  /** Makes the threshold movable by pointer and keys. */
  onThreshold?: (threshold: number) => void
  /** Shown below the plot, as wide as it. */
  children?: React.ReactNode
}

/** A metric over time against a threshold; the side on which the condition is met is shaded. */
export function ThresholdChart(props: Props) {
  const { unit, points, window, threshold, operator, marks = [], onThreshold, children } = props
  // Keep the scale fixed while the handle has focus, or the handle would move away from the pointer.
  const [held, setHeld] = useState<Scale | null>(null)
  const scale = held ?? scaleOf([...points.map(({ value }) => value), threshold])
  const share = (value: number) =>
    Math.min(1, Math.max(0, (value - scale.bottom) / (scale.top - scale.bottom)))
  const x = (ms: number) => ((ms - window.fromMs) / (window.toMs - window.fromMs)) * 100
  const limit = 100 - share(threshold) * 100
  const place = useRef<HTMLDivElement>(null)
  return (
    <div className="threshold-chart">
      <div className="y-axis" aria-hidden="true">
        {[1, 0.75, 0.5, 0.25, 0].map((part) => (
          <span key={part}>{quantity(scale.bottom + part * (scale.top - scale.bottom), unit)}</span>
        ))}
      </div>
      <div className="plot" ref={place}>
        <svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label={summaryOf(props)}>
          {[0, 25, 50, 75, 100].map((y) => (
            <path key={y} className="grid" d={`M0 ${y}H100`} />
          ))}
          <rect
            className="met"
            x="0"
            width="100"
            y={operator === 'gt' ? 0 : limit}
            height={operator === 'gt' ? limit : 100 - limit}
          />
          {marks.map((at) => (
            <path key={at} className="mark" d={`M${x(Date.parse(at)).toFixed(2)} 0V100`} />
          ))}
          <path
            className="line"
            d={pathOf(
              points,
              (ms) => x(ms),
              (value) => 100 - share(value) * 100,
            )}
          />
          <path className="limit" d={`M0 ${limit}H100`} />
        </svg>
        {onThreshold && (
          <Handle
            scale={scale}
            unit={unit}
            threshold={threshold}
            top={limit}
            place={place}
            hold={setHeld}
            onThreshold={onThreshold}
          />
        )}
      </div>
      {children && <div className="below">{children}</div>}
      <div className="x-axis" aria-hidden="true">
        {[0, 0.5, 1].map((part) => (
          <span key={part}>{shortTime(window.fromMs + part * (window.toMs - window.fromMs))}</span>
        ))}
      </div>
    </div>
  )
}

function summaryOf({ label, unit, points, threshold, operator }: Props): string {
  const values = points.map(({ value }) => value)
  const newest = values.at(-1)
  const found =
    newest === undefined
      ? 'no data'
      : `latest ${quantity(newest, unit)}, at most ${quantity(Math.max(...values), unit)}`
  const side = operator === 'gt' ? 'above' : 'below'
  return `${label}: ${found}. Threshold ${side} ${quantity(threshold, unit)}.`
}

interface HandleProps {
  scale: Scale
  unit: string
  threshold: number
  /** Percent of the height. */
  top: number
  place: React.RefObject<HTMLDivElement | null>
  hold: (scale: Scale | null) => void
  onThreshold: (threshold: number) => void
}

/** No native element can be a line across a chart, so this has the role and the keys of a slider. */
function Handle({ scale, unit, threshold, top, place, hold, onThreshold }: HandleProps) {
  const help = useId()
  const drag = (event: React.PointerEvent) => {
    const area = place.current?.getBoundingClientRect()
    if (!area || !event.currentTarget.hasPointerCapture(event.pointerId)) return
    onThreshold(valueAt(scale, 1 - (event.clientY - area.top) / area.height))
  }
  return (
    <div
      className="handle"
      role="slider"
      tabIndex={0}
      aria-label="Threshold on the chart"
      aria-orientation="vertical"
      aria-valuemin={scale.bottom}
      aria-valuemax={scale.top}
      aria-valuenow={threshold}
      aria-valuetext={quantity(threshold, unit)}
      aria-describedby={help}
      style={{ top: `${top}%` }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId)
        event.currentTarget.focus({ preventScroll: true })
      }}
      onPointerMove={drag}
      onFocus={() => hold(scale)}
      onBlur={() => hold(null)}
      onKeyDown={(event) => {
        const moved = movedByKey(scale, threshold, event.key)
        if (moved === null) return
        event.preventDefault()
        onThreshold(moved)
      }}
    >
      <span className="grip">{quantity(threshold, unit)}</span>
      <span id={help} className="hidden-text">
        Drag, or use the arrow keys.
      </span>
    </div>
  )
}

/** A line with gaps where samples are missing. */
function pathOf(points: Props['points'], x: (ms: number) => number, y: (value: number) => number): string {
  const times = points.map(({ t }) => Date.parse(t))
  const steps = times.slice(1).map((ms, index) => ms - times[index]!)
  const usual = [...steps].sort((a, b) => a - b)[Math.floor(steps.length / 2)] ?? 0
  return points
    .map(({ value }, index) => {
      const begins = index === 0 || steps[index - 1]! > 2.5 * usual
      return `${begins ? 'M' : 'L'}${x(times[index]!).toFixed(2)} ${y(value).toFixed(2)}`
    })
    .join('')
}
