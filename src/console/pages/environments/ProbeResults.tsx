import type { ProbeCheck, ProbeLevel } from '../../../contract/function-probe.ts'
import { Badge } from '../../components/Badge.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { quantity, whole } from '../../components/words.ts'
import { inWords } from '../../words/text.ts'

const columns = Object.entries({
  'At a time': ({ concurrency }) => concurrency,
  Requests: ({ requests }) => whole(requests),
  Answered: ({ ok }) => whole(ok),
  Errors: errorsOf,
  Median: ({ p50Seconds }) => quantity(p50Seconds, 's'),
  '95th percentile': ({ p95Seconds }) => quantity(p95Seconds, 's'),
  Containers: ({ containers }) => containers,
} satisfies Record<string, Column<ProbeLevel>['cell']>).map(([title, cell]) => ({
  title,
  kind: 'number',
  cell,
}))

/** The same numbers as in the charts, and the failures. */
export function ProbeTable({ levels }: { levels: readonly ProbeLevel[] }) {
  return (
    <Table
      label="Steps of the probe"
      columns={columns}
      rows={levels}
      keyOf={({ concurrency }) => String(concurrency)}
    />
  )
}

function errorsOf({ answered4xx, answered5xx, refused, failed }: ProbeLevel): string {
  const kinds = [
    [answered4xx, '4xx'],
    [answered5xx, '5xx'],
    [refused, 'refused'],
    [failed, 'without an answer'],
  ] as const
  const seen = kinds.filter(([count]) => count > 0)
  return seen.length === 0 ? '0' : seen.map(([count, kind]) => `${whole(count)} ${kind}`).join(', ')
}

const rules: Record<ProbeCheck['rule'], string> = {
  F1: 'Scales to zero when idle',
  F2: 'A request wakes it',
  F3: 'Containers are added in time',
}

export function ProbeChecks({ checks }: { checks: readonly ProbeCheck[] }) {
  return (
    <ul className="stack" aria-label="Rules that the probe checked">
      {checks.map(({ rule, holds, because }) => (
        <li key={rule}>
          {holds === null && <Badge tone="idle">Not seen</Badge>}
          {holds === true && <Badge tone="ok">Holds</Badge>}
          {holds === false && <Badge tone="bad">Does not hold</Badge>} <strong>{rules[rule]}</strong>{' '}
          <span className="muted">{inWords(because)}</span>
        </li>
      ))}
    </ul>
  )
}
