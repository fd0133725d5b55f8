import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { getLogs, type LogLine } from '../../../contract/app-env-reads.ts'
import { ansi } from '../../../contract/hidden-characters.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import type { AppError } from '../../../errors.ts'
import { client } from '../../api/client.ts'
import { Problem } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'

interface LinesProps {
  input: Parameters<typeof client.call<typeof getLogs>>[1]
  newest: readonly LogLine[]
  cursor: string | null
  follows: boolean
}

/** Lines as they arrive, newest last; older ones on demand. */
export function LogLines({ input, newest, cursor, follows }: LinesProps) {
  const place = useRef<HTMLOListElement>(null)
  const [older, setOlder] = useState<{ lines: readonly LogLine[]; cursor: string | null } | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when lines arrive
  useEffect(() => {
    const list = place.current
    if (follows && list) list.scrollTop = list.scrollHeight
  }, [newest, follows])
  const next = older ? older.cursor : cursor
  const read = useMutation<OutputOf<typeof getLogs>, AppError>({
    mutationFn: () => client.call(getLogs, { ...input, cursor: next }),
    onSuccess: (page) => setOlder({ lines: [...page.logs, ...(older?.lines ?? [])], cursor: page.cursor }),
  })
  // Loaded lines stay when newer lines push them out of the newest page.
  const lines = older ? [...older.lines, ...newest.filter((line) => !isIn(older.lines, line))] : newest
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <ol className="logs" ref={place} tabIndex={0} aria-label="Log lines, newest last">
      {next !== null && !follows && (
        <li>
          <button type="button" className="button quiet compact" onClick={() => read.mutate()}>
            Load older lines
          </button>
          <Problem error={read.error} />
        </li>
      )}
      {keyed(lines).map(({ key, line }) => (
        <li key={key} className={line.stream}>
          <Time at={line.timestamp} clock />
          <pre>
            {line.stream === 'stderr' && <span className="hidden-text">standard error: </span>}
            {line.message.replace(ansi, '')}
          </pre>
        </li>
      ))}
    </ol>
  )
}

/** Keys that a line keeps while older ones go: its time, and its place among those of the same millisecond. */
function keyed(lines: readonly LogLine[]): { key: string; line: LogLine }[] {
  let place = 0
  return lines.map((line, index) => {
    place = lines[index - 1]?.timestamp === line.timestamp ? place + 1 : 0
    return { key: `${line.timestamp} ${place}`, line }
  })
}

function isIn(lines: readonly LogLine[], line: LogLine): boolean {
  const last = lines.at(-1)
  return last !== undefined && line.timestamp < last.timestamp
}
