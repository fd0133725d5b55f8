/** A measured value; the time is in milliseconds since the start. */
export interface Sample {
  atMs: number
  value: number
}

/**
 * A small bar chart of a stepwise value over time: one line for each unit of the value, one column for each
 * slice of time, then the axis in seconds.
 */
export function barChart(samples: readonly Sample[], columns = 60): string[] {
  const first = samples[0]
  const last = samples.at(-1)
  if (!first || !last || last.atMs === first.atMs) return []
  const spanMs = last.atMs - first.atMs
  const heights: number[] = []
  let index = 0
  let value = first.value
  for (let column = 0; column < columns; column += 1) {
    const endMs = first.atMs + (spanMs * (column + 1)) / columns
    // The highest value of the slice, so that short peaks stay visible.
    let highest = value
    for (let next = samples[index]; next && next.atMs <= endMs; next = samples[index]) {
      value = next.value
      highest = Math.max(highest, value)
      index += 1
    }
    heights.push(highest)
  }
  const top = Math.max(...heights, 1)
  const rows: string[] = []
  for (let level = top; level >= 1; level -= 1) {
    const bars = heights.map((height) => (height >= level ? '█' : ' ')).join('')
    rows.push(`${String(level).padStart(3)} │${bars}`.trimEnd())
  }
  const seconds = `${(spanMs / 1000).toFixed(0)} s`
  rows.push(`  0 └${'─'.repeat(columns)}`, `     0${' '.repeat(columns - 1 - seconds.length)}${seconds}`)
  return rows
}
