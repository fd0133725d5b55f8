import { useParams, useSearch } from '@tanstack/react-router'
import { Failed, Loading } from '../../components/states.tsx'
import { Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { operationWords } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { type Entry, filtered, surfaceNames } from '../activity/entries.ts'
import { Timeline, useEntries } from '../activity/Timeline.tsx'
import { callersOf, operationsOf } from './callers.ts'

/** Completed and rejected writes of one caller; `?surface=` limits them to one surface, such as MCP. */
export function AgentPage() {
  const { accountId } = useAccount()
  const { principalId } = useParams({ from: '/frame/agents/$principalId' })
  const { surface } = useSearch({ from: '/frame/agents/$principalId' })
  const read = useEntries(accountId, undefined)
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading rows={6} />
  const fixed = { who: principalId, surface }
  const entries = filtered(read.data, fixed)
  const [caller] = callersOf(entries)
  return (
    <>
      <div className="page-head">
        <h1>{caller?.name ?? 'Unknown caller'}</h1>
        <span className="muted">
          {surface ? (surfaceNames[surface] ?? surface) : 'Every surface'} · <code>{principalId}</code>
        </span>
      </div>
      <div className="stack">
        {caller && <Totals entries={entries} />}
        <Timeline accountId={accountId} fixed={fixed} />
      </div>
    </>
  )
}

function Totals({ entries }: { entries: readonly Entry[] }) {
  const refused = entries.filter(({ outcome }) => outcome === 'refused').length
  const undone = entries.filter(({ operation }) => operation === 'undo-change').length
  return (
    <section className="panel" aria-label="Totals">
      <div className="body">
        <dl className="facts">
          <Fact label="Changes">{(entries.length - refused).toLocaleString()}</Fact>
          <Fact label="Refused">{refused.toLocaleString()}</Fact>
          <Fact label="Undone by it">{undone.toLocaleString()}</Fact>
          <Fact label="First of these">
            <Time at={entries.at(-1)!.timestamp} />
          </Fact>
          <Fact label="Last seen">
            <Time at={entries[0]!.timestamp} />
          </Fact>
        </dl>
      </div>
      <Table
        label="Operations of this caller"
        columns={[
          { title: 'Operation', cell: ({ operation }) => operationWords(operation) },
          { title: 'Done', kind: 'number', cell: ({ done }) => done.toLocaleString() },
          { title: 'Refused', kind: 'number', cell: (row) => row.refused.toLocaleString() },
        ]}
        rows={operationsOf(entries)}
        keyOf={({ operation }) => operation}
      />
    </section>
  )
}

function Fact({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
