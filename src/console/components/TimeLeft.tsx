import { useEffect, useState } from 'react'
import { exactTime, leftWords } from './words.ts'

/** The time until `at`, counted down each second: "4 min 10 s". */
export function TimeLeft({ at }: { at: string }) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={at} title={exactTime(at)} className="nowrap">
      {leftWords(Date.parse(at) - now)}
    </time>
  )
}
