/** The console is in English, so its numbers and dates are too, whatever the language of the browser. */
const locale = 'en-US'

/** Formats of numbers, times and units. Dates are in the reader's time zone. */
const number = new Intl.NumberFormat(locale, {
  maximumSignificantDigits: 3,
  maximumFractionDigits: 3,
  roundingPriority: 'lessPrecision',
})
const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' })
const clockTime = new Intl.DateTimeFormat(locale, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'full' })
const short = new Intl.DateTimeFormat(locale, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
})
const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })

export const exactTime = (iso: string): string => exact.format(new Date(iso))
export const timeOfDay = (iso: string): string => clockTime.format(new Date(iso))
/** Day, hour and minute, for the axis of a chart. */
export const shortTime = (ms: number): string => short.format(new Date(ms))
export const dayOf = (iso: string): string => day.format(new Date(iso))

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** "3 minutes ago". Below a minute: "just now", so that the page does not change every second. */
export function ago(iso: string, nowMs: number): string {
  const seconds = (Date.parse(iso) - nowMs) / 1000
  const step = steps.find(([, size]) => Math.abs(seconds) >= size)
  return step ? relative.format(Math.round(seconds / step[1]), step[0]) : 'just now'
}

/** A measured value with its unit; seconds below one become milliseconds. */
export function quantity(value: number, unit: string): string {
  if (unit === 's' && value > 0 && value < 1) return `${number.format(value * 1000)} ms`
  const counted = value === 1 ? unit.replace(/^(container|start)s\b/, '$1') : unit
  return `${number.format(value)} ${counted}`
}

/** A whole number, as in "20,000". */
export function whole(count: number): string {
  return count.toLocaleString(locale)
}

/** "1 container", "3 containers". */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${whole(count)} ${count === 1 ? singular : plural}`
}

export function megabytes(mb: number): string {
  // A small backup is not "0 MB".
  if (mb > 0 && mb < 1)
    return mb < 1 / 1024 ? `${number.format(mb * 2 ** 20)} B` : `${number.format(mb * 1024)} KB`
  return mb >= 1024 ? `${number.format(mb / 1024)} GB` : `${number.format(mb)} MB`
}

/** Midnight in the reader's time zone; constant all day, so that all polls share one query. */
export function startOfToday(): string {
  const now = new Date()
  return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString()
}

/** What is left of a time, in its two largest units: "1 d 3 h", "4 min 10 s". */
export function leftWords(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3_600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const
  const first = parts.findIndex(([count]) => count > 0)
  if (first < 0) return '0 s'
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
