interface Props {
  values: readonly number[]
  /** Text alternative, such as "12 req/s now, at most 40 req/s in the last hour". */
  label: string
  color: string
}

/** A line chart of the last hour. The axis starts at zero, so that noise does not look like load. */
export function Sparkline({ values, label, color }: Props) {
  const top = Math.max(...values, Number.EPSILON)
  const step = values.length > 1 ? 100 / (values.length - 1) : 0
  const points = values.map(
    (value, index) => `${(index * step).toFixed(1)},${(20 - (value / top) * 18).toFixed(1)}`,
  )
  return (
    <svg className="spark" viewBox="0 0 100 22" preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      <path d="M0 20.5H100" stroke="var(--line)" strokeWidth="1" vectorEffect="non-scaling-stroke" />
      {points.length > 1 && (
        <polyline
          points={points.join(' ')}
          fill="none"
          stroke={color}
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  )
}
