interface Props {
  points: readonly { t: string; value: number }[]
  /** Text alternative, such as "12 req/s now, at most 40 req/s in the last hour". */
  label: string
  color: string
}

const hourMs = 3_600_000

/**
 * A line chart of the last hour: what began ten minutes ago fills the last sixth. The axis starts at zero, so that noise
 * does not look like load.
 */
export function Sparkline({ points, label, color }: Props) {
  const top = Math.max(...points.map(({ value }) => value), Number.EPSILON)
  const endMs = Math.max(Date.now(), ...points.slice(-1).map(({ t }) => Date.parse(t)))
  const places = points.map(({ t, value }) => {
    const x = 100 - ((endMs - Date.parse(t)) / hourMs) * 100
    return `${x.toFixed(1)},${(20 - (value / top) * 18).toFixed(1)}`
  })
  return (
    <svg className="spark" viewBox="0 0 100 22" preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <path d="M0 20.5H100" stroke="var(--line)" strokeWidth="1" vectorEffect="non-scaling-stroke" />
      {places.length > 1 && (
        <polyline
          points={places.join(' ')}
          fill="none"
          stroke={color}
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  )
}
