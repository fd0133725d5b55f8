import { type Freeze, weekdays } from '../../contract/policy.ts'

/** A test whether a freeze is on at a time (ISO). Windows are in the clock of its time zone, also across its changes. */
export function freezeTest({ from, to, weekly, timeZone }: Freeze): (at: string) => boolean {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  })
  return (at) => {
    const local = localTime(format, at)
    if (from !== undefined && isBefore(at, local, from)) return false
    if (to !== undefined && !isBefore(at, local, to)) return false
    return weekly === undefined || isInWeek(weekly, local)
  }
}

interface LocalTime {
  day: (typeof weekdays)[number]
  /** Such as 2030-12-24T18:00:00. */
  text: string
  /** Such as 18:00. */
  clock: string
}

function localTime(format: Intl.DateTimeFormat, at: string): LocalTime {
  const parts = Object.fromEntries(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]))
  const clock = `${parts.hour}:${parts.minute}`
  return {
    day: parts.weekday!.toLowerCase() as LocalTime['day'],
    text: `${parts.year}-${parts.month}-${parts.day}T${clock}:${parts.second}`,
    clock,
  }
}

function isBefore(at: string, { text }: LocalTime, limit: string): boolean {
  const hasZone = /(?:Z|[+-]\d{2}:\d{2})$/.test(limit)
  return hasZone ? Date.parse(at) < Date.parse(limit) : text < limit
}

/** A window that ends at or before its beginning ends on the next day. */
function isInWeek({ days, from, to }: NonNullable<Freeze['weekly']>, { day, clock }: LocalTime): boolean {
  const dayBefore = weekdays[(weekdays.indexOf(day) + 6) % 7]!
  if (from < to) return days.includes(day) && clock >= from && clock < to
  return (days.includes(day) && clock >= from) || (days.includes(dayBefore) && clock < to)
}
