import { Link } from '@tanstack/react-router'
import { Fact } from '../../components/Fact.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { whole } from '../../components/words.ts'
import { operationWords } from '../../words/operations.ts'
import { type Entry, type Filters, shortId } from '../activity/entries.ts'
import { Timeline, useEntries } from '../activity/Timeline.tsx'
import { isDenied, isObserved, operationsOf, type Session, sessionsOf } from './callers.ts'

interface Props {
  accountId: string
  /** The caller of the entries: a person or environment on a surface, a token, or an agent session. */
  fixed: Filters
  /** What else there is about an agent. */
  details?: React.ReactNode
  heading: (newest: Entry | undefined) => { title: string; about: React.ReactNode }
}

/** The activity and the refusals of one caller: totals, sessions, and each entry with its changes. */
export function CallerActivity({ accountId, fixed, details, heading }: Props) {
  const read = useEntries(accountId, fixed)
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading rows={6} />
  const entries = read.data
  const { title, about } = heading(entries[0])
  const sessions = fixed.session === undefined ? sessionsOf(entries) : []
  return (
    <>
      <div className="page-head">
        <PageTitle>{title}</PageTitle>
        <span className="muted">{about}</span>
      </div>
      <div className="stack">
        {entries.length > 0 && <Totals entries={entries} isComplete={!read.hasNextPage} />}
        {details}
        {sessions.length > 0 && <Sessions sessions={sessions} />}
        <Timeline accountId={accountId} fixed={fixed} />
      </div>
    </>
  )
}

function Totals({ entries, isComplete }: { entries: readonly Entry[]; isComplete: boolean }) {
  const refused = entries.filter(({ outcome }) => outcome === 'refused').length
  const denied = entries.filter(isDenied).length
  const observed = entries.filter(isObserved).length
  const undone = entries.filter(({ operation }) => operation === 'undo-change').length
  return (
    <section className="panel" aria-label="Totals">
      <div className="body">
        <dl className="facts">
          <Fact label="Changes" value={whole(entries.length - refused)} />
          <Fact label="Refused" value={whole(refused)} />
          <Fact label="Denied by policy" value={whole(denied)} />
          <Fact label="Would have stopped" value={whole(observed)} note="while only observed" />
          <Fact label="Undone by it" value={whole(undone)} />
          <Fact
            label={isComplete ? 'First seen' : 'First of these'}
            value={<Time at={entries.at(-1)!.timestamp} />}
          />
          <Fact label="Last seen" value={<Time at={entries[0]!.timestamp} />} />
        </dl>
        {!isComplete && (
          <p className="muted small">
            Counted: the newest {whole(entries.length)} entries. Load older ones below.
          </p>
        )}
      </div>
      <Table
        label="Operations of this caller"
        columns={[
          { title: 'Operation', cell: ({ operation }) => operationWords(operation) },
          { title: 'Done', kind: 'number', cell: ({ done }) => whole(done) },
          { title: 'Refused', kind: 'number', cell: (row) => whole(row.refused) },
        ]}
        rows={operationsOf(entries)}
        keyOf={({ operation }) => operation}
      />
    </section>
  )
}

const sessionColumns: Column<Session>[] = [
  {
    title: 'Session',
    cell: ({ sessionId }) => (
      <Link to="/sessions/$sessionId" params={{ sessionId }} search={({ account }) => ({ account })}>
        {shortId(sessionId)}
      </Link>
    ),
  },
  { title: 'First call', cell: ({ firstAt }) => <Time at={firstAt} /> },
  { title: 'Last call', cell: ({ lastAt }) => <Time at={lastAt} /> },
  { title: 'Done', kind: 'number', cell: ({ done }) => whole(done) },
  { title: 'Refused', kind: 'number', cell: ({ refused }) => whole(refused) },
]

function Sessions({ sessions }: { sessions: readonly Session[] }) {
  return (
    <section className="panel" aria-labelledby="sessions">
      <header>
        <h2 id="sessions">Agent sessions</h2>
      </header>
      <Table
        label="List of agent sessions"
        columns={sessionColumns}
        rows={sessions}
        keyOf={({ sessionId }) => sessionId}
      />
    </section>
  )
}
