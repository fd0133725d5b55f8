import type { Pod } from '../../../contract/app-env-reads.ts'
import { counted, exactTime, shortTime, timeOfDay } from '../../components/words.ts'

const lane = 9
const width = 1000

/** Run times of containers up to now: overlaps are scale-ups, gaps are scale to zero. */
export function ContainerTimeline({ pods }: { pods: readonly Pod[] }) {
  const nowMs = Date.now()
  const spans = spansOf(pods, nowMs)
  if (spans.length === 0) return null
  // A clock of the browser that is behind must not turn the line around.
  const from = Math.min(...spans.map(({ start }) => start), nowMs - 1)
  const to = nowMs
  const x = (ms: number) => ((ms - from) / (to - from)) * width
  const height = spans.length * lane + 4
  const zero = gapsOf(spans, to)
  const lastZero = zero.at(-1)
  const isZero = lastZero?.end === to
  const label = [
    `${counted(spans.length, 'container')} from ${momentWords(from, to)} to now`,
    `at zero ${counted(zero.length, 'time')}${isZero ? `, now since ${momentWords(lastZero.start, to)}` : ''}.`,
  ].join('; ')
  return (
    <figure className="body" style={{ paddingBottom: 4 }}>
      <svg
        className="lanes"
        viewBox={`0 0 ${width} ${height}`}
        height={height}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {zero.map((gap) => (
          <rect
            key={gap.start}
            x={x(gap.start)}
            width={x(gap.end) - x(gap.start)}
            height={height}
            fill="var(--raised)"
          >
            <title>{`At zero: ${spanTimes(gap)}`}</title>
          </rect>
        ))}
        {spans.map((span, index) => (
          <rect
            key={span.name}
            x={x(span.start)}
            y={2 + index * lane}
            width={Math.max(3, x(span.end) - x(span.start))}
            {...looks[stateOf(span)]}
            vectorEffect="non-scaling-stroke"
          >
            <title>{`${span.name}, ${stateOf(span)}: ${spanTimes(span)}`}</title>
          </rect>
        ))}
      </svg>
      <figcaption className="muted small">
        {label} High bars run, low ones ended, hollow ones failed. Shaded: scaled to zero, not billed.
      </figcaption>
    </figure>
  )
}

interface Span {
  name: string
  start: number
  end: number
  failed: boolean
  running: boolean
}

/** Each state has its own shape, because color must not be the only signal. */
const looks = {
  running: { height: lane - 3, fill: 'var(--ok)' },
  ended: { height: lane - 6, fill: 'var(--line-strong)' },
  failed: { height: lane - 4, fill: 'none', stroke: 'var(--bad)', strokeWidth: 2 },
}

const stateOf = ({ failed, running }: Span) => (failed ? 'failed' : running ? 'running' : 'ended')

/** With the day, because a container may have run yesterday. */
export function spanTimes({
  start,
  end,
  running = false,
}: Pick<Span, 'start' | 'end'> & { running?: boolean }) {
  return `${exactTime(iso(start))} to ${running ? 'now' : exactTime(iso(end))}`
}

/** Run times of containers in milliseconds, oldest first; a running one lasts until now. */
export function spansOf(pods: readonly Pod[], nowMs: number): Span[] {
  return pods
    .flatMap(({ name, startedAt, finishedAt, status }) => {
      if (startedAt === null) return []
      const running = finishedAt === null
      const end = running ? nowMs : Date.parse(finishedAt)
      return [{ name, start: Date.parse(startedAt), end, failed: status === 'Failed', running }]
    })
    .sort((a, b) => a.start - b.start)
}

/** Periods without a running container, up to `to`. */
export function gapsOf(spans: readonly Span[], to: number): { start: number; end: number }[] {
  const gaps: { start: number; end: number }[] = []
  let covered = spans[0]?.start ?? to
  for (const { start, end } of spans) {
    if (start > covered) gaps.push({ start: covered, end: start })
    covered = Math.max(covered, end)
  }
  if (to > covered) gaps.push({ start: covered, end: to })
  return gaps
}

/** The time of day; with the day where that was another one. */
function momentWords(ms: number, nowMs: number): string {
  const isToday = new Date(ms).toDateString() === new Date(nowMs).toDateString()
  return isToday ? timeOfDay(iso(ms)) : shortTime(ms)
}

const iso = (ms: number) => new Date(ms).toISOString()
