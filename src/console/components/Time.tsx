import { useEffect, useState } from 'react'
import { ago, exactTime, timeOfDay } from './words.ts'

/** "3 minutes ago" with the exact time on hover and for screen readers. */
export function Time({ at, clock = false }: { at: string; clock?: boolean }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (clock) return
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [clock])
  return (
    <time dateTime={at} title={exactTime(at)}>
      {clock ? timeOfDay(at) : ago(at, now)}
    </time>
  )
}
