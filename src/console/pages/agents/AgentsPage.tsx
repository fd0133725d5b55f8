import { Link } from '@tanstack/react-router'
import { listApprovals } from '../../../contract/approvals.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { whole } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { surfaceNames } from '../activity/entries.ts'
import { useEntries } from '../activity/Timeline.tsx'
import { type Caller, callersOf } from './callers.ts'

/** Callers that write in the account, agents first. Admins only; the platform rejects other callers. */
export function AgentsPage() {
  const { accountId, name } = useAccount()
  const read = useEntries(accountId)
  const callers = callersOf(read.data ?? [])
  const agents = callers.filter(({ isAgent }) => isAgent)
  const others = callers.filter(({ isAgent }) => !isAgent)
  const requestsOf = useRequests(accountId)
  return (
    <>
      <div className="page-head">
        <PageTitle>Agents</PageTitle>
        <span className="muted">{name}</span>
      </div>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading />}
      {read.data && (
        <div className="stack">
          <CallerTable title="Agents" columns={agentColumns(requestsOf)} callers={agents}>
            <Empty title="No agent has changed anything yet">
              <Link to="/start" search={({ account }) => ({ account })}>
                Connect an agent
              </Link>
            </Empty>
          </CallerTable>
          <CallerTable title="People and programs" columns={columns} callers={others}>
            <Empty title="No changes yet" />
          </CallerTable>
          {read.hasNextPage && (
            <div className="row">
              <button
                type="button"
                className="button"
                disabled={read.isFetchingNextPage}
                onClick={() => read.fetchNextPage()}
              >
                Count older entries too
              </button>
              <span className="muted small">Counted: the newest {whole(read.data.length)} entries.</span>
            </div>
          )}
        </div>
      )}
    </>
  )
}

const columns: Column<Caller>[] = [
  {
    title: 'Who',
    cell: ({ principalId, surface, agent, name }) => (
      <Link
        to="/agents/$principalId"
        params={{ principalId }}
        search={({ account }) => ({ account, surface, agent: agent ?? undefined })}
      >
        {name}
      </Link>
    ),
  },
  { title: 'From where', cell: ({ surface }) => surfaceNames[surface] },
  { title: 'Done', kind: 'number', cell: ({ done }) => whole(done) },
  {
    title: 'Refused',
    kind: 'number',
    cell: ({ refused }) => (refused > 0 ? <Badge tone="bad">{whole(refused)}</Badge> : '0'),
  },
  { title: 'Last seen', cell: ({ lastAt }) => <Time at={lastAt} /> },
]

/** How many of the newest approvals a caller requested. */
function useRequests(accountId: string): (caller: Caller) => number {
  const read = useRead(listApprovals, { accountId, limit: 200 }, { everyMs: everyMs.list })
  return ({ principalId, agent }) =>
    (read.data?.approvals ?? []).filter(
      ({ requestedBy }) => requestedBy.userId === principalId && requestedBy.agent === agent,
    ).length
}

/** What the policy decided about an agent: allowed, held for a person, denied, and what it would have stopped. */
const agentColumns = (requestsOf: (caller: Caller) => number): Column<Caller>[] => [
  ...columns.slice(0, 2),
  { title: 'Allowed', kind: 'number', cell: ({ done }) => whole(done) },
  { title: 'Held', kind: 'number', cell: (caller) => whole(requestsOf(caller)) },
  {
    title: 'Denied',
    kind: 'number',
    cell: ({ denied }) => (denied > 0 ? <Badge tone="bad">{whole(denied)}</Badge> : '0'),
  },
  { title: 'Would have stopped', kind: 'number wide', cell: ({ observed }) => whole(observed) },
  ...columns.slice(3),
]

interface TableProps {
  title: string
  columns: Column<Caller>[]
  callers: readonly Caller[]
  children: React.ReactNode
}

function CallerTable({ title, columns, callers, children }: TableProps) {
  return (
    <section className="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      {callers.length === 0 && children}
      {callers.length > 0 && (
        <Table
          label={`List: ${title}`}
          columns={columns}
          rows={callers}
          keyOf={({ principalId, surface, agent }) => `${principalId} ${surface} ${agent}`}
        />
      )}
    </section>
  )
}
