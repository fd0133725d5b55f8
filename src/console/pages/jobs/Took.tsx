import { useEffect, useState } from 'react'
import { tookWords } from './run-words.ts'

/** Duration of a run or attempt; counts up until it ends. */
export function Took({
  run: { startedAt, finishedAt },
}: {
  run: { startedAt: string | null; finishedAt: string | null }
}) {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (startedAt === null || finishedAt !== null) return
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [startedAt, finishedAt])
  return <>{startedAt === null ? '–' : tookWords(startedAt, finishedAt, now)}</>
}
