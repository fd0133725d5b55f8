import type { RemediationRun } from './remediations.ts'

/** A run as sentences: what it saw, how it stands, what it did, and the metric before and after. */
export function storyOf({ reason, trigger, steps, picture }: RemediationRun): string[] {
  const did = steps.map(({ action, outcome }) => (outcome === 'done' ? action : `${action} (${outcome})`))
  return [
    `${trigger.name}, since ${trigger.startedAt}.`,
    reason,
    ...(did.length === 0 ? [] : [`Steps: ${did.join(', ')}.`]),
    ...(picture
      ? [`${picture.metric} before ${drawn(picture.before)}, after ${drawn(picture.after)} ${picture.unit}.`]
      : []),
  ]
}

const bars = '▁▂▃▄▅▆▇█'
const barsDrawn = 20

/** A series as a line of bars with its last value. */
export function drawn(points: readonly (readonly number[])[]): string {
  if (points.length === 0) return 'no data'
  const values = points.slice(-barsDrawn).map(([, value = 0]) => value)
  const most = Math.max(...values, Number.MIN_VALUE)
  const line = values.map((value) => bars[Math.max(0, Math.round((value / most) * (bars.length - 1)))])
  return `${line.join('')} ${Number(values.at(-1)!.toPrecision(6))}`
}
