import { Link } from '@tanstack/react-router'
import type { OutputOf } from '../../../contract/operation.ts'
import { type PolicyContent, replayPolicy } from '../../../contract/policy.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Loading, Problem } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { counted, whole } from '../../components/words.ts'
import { operationWords } from '../../words/operations.ts'
import { effectWords, kindNames } from '../../words/policy.ts'
import type { NameOf } from '../../words/values.ts'
import { agentName } from '../activity/entries.ts'

type Stopped = OutputOf<typeof replayPolicy>['entries'][number]

const mostShown = 20

/** What a policy would have held or denied in the last seven days: the stored one, or one that is only tried. */
export function Replay({
  accountId,
  tried,
  nameOf,
}: {
  accountId: string
  tried: PolicyContent | null
  nameOf: NameOf
}) {
  const read = useRead(replayPolicy, { accountId, ...(tried ? { policy: tried } : {}) })
  const { writes = 0, effects, skipped = 0, entries = [] } = read.data ?? {}
  return (
    <section className="panel" aria-labelledby="replay">
      <header>
        <h2 id="replay">{tried ? 'What the text would have stopped' : 'What it would have stopped'}</h2>
        <span className="muted small">In the last 7 days</span>
      </header>
      {read.isPending && <Loading rows={2} />}
      <div className="body stack" role="status">
        <Problem error={read.error} />
        {effects && (
          <p>
            Of {counted(writes, 'write')} it would hold {whole(effects.ask)} for a person and deny{' '}
            {whole(effects.deny)}.{skipped > 0 && ` ${counted(skipped, 'older write')} cannot be decided.`}
          </p>
        )}
      </div>
      {entries.length > 0 && (
        <Table
          label="List of writes that it would have stopped"
          columns={columnsOf(nameOf)}
          rows={entries.slice(-mostShown).reverse()}
          keyOf={({ entryId }) => entryId}
        />
      )}
    </section>
  )
}

const columnsOf = (nameOf: NameOf): Column<Stopped>[] => [
  {
    title: 'Write',
    cell: ({ operation, objectId }) => (
      <Link to="/activity" search={({ account }) => ({ account, object: objectId || undefined })}>
        {operationWords(operation)}
        {nameOf(objectId) !== undefined && ` ${nameOf(objectId)}`}
      </Link>
    ),
  },
  {
    title: 'Decision',
    cell: ({ effect }) => <Badge tone={effectWords[effect].tone}>{effectWords[effect].name}</Badge>,
  },
  { title: 'Rule', kind: 'mono', cell: ({ ruleId }) => ruleId ?? '' },
  { title: 'By', cell: ({ agent, caller }) => (agent === null ? kindNames[caller] : agentName(agent)) },
  { title: 'When', cell: ({ timestamp }) => <Time at={timestamp} /> },
]
