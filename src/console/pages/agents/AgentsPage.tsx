import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { useAccount } from '../../shell/account.ts'
import { surfaceNames } from '../activity/entries.ts'
import { useEntries } from '../activity/Timeline.tsx'
import { type Caller, callersOf } from './callers.ts'

/** Callers that write in the account, agents first. Admins only; the platform rejects other callers. */
export function AgentsPage() {
  const { accountId, name } = useAccount()
  const read = useEntries(accountId, undefined)
  const callers = callersOf(read.data ?? [])
  const agents = callers.filter(({ surface }) => surface === 'mcp')
  const others = callers.filter(({ surface }) => surface !== 'mcp')
  return (
    <>
      <div className="page-head">
        <h1>Agents</h1>
        <span className="muted">{name}</span>
      </div>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading />}
      {read.data && (
        <div className="stack">
          <CallerTable title="Agents (MCP)" callers={agents}>
            <Empty title="No agent has changed anything yet">
              <Link to="/start" search={({ account }) => ({ account })}>
                Connect an agent
              </Link>
            </Empty>
          </CallerTable>
          <CallerTable title="People and programs" callers={others}>
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
              <span className="muted small">
                Counted: the newest {read.data.length.toLocaleString()} entries.
              </span>
            </div>
          )}
        </div>
      )}
    </>
  )
}

interface TableProps {
  title: string
  callers: readonly Caller[]
  children: React.ReactNode
}

function CallerTable({ title, callers, children }: TableProps) {
  return (
    <section className="panel" aria-label={title}>
      <header>
        <h2>{title}</h2>
      </header>
      {callers.length === 0 && children}
      {callers.length > 0 && (
        <ScrollArea label={`List: ${title}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Who</th>
                <th scope="col">From where</th>
                <th scope="col" className="number">
                  Done
                </th>
                <th scope="col" className="number">
                  Refused
                </th>
                <th scope="col">Last seen</th>
              </tr>
            </thead>
            <tbody>
              {callers.map(({ principalId, surface, name, done, refused, lastAt }) => (
                <tr key={`${principalId} ${surface}`}>
                  <th scope="row">
                    <Link
                      to="/agents/$principalId"
                      params={{ principalId }}
                      search={({ account }) => ({ account, surface })}
                    >
                      {name}
                    </Link>
                  </th>
                  <td>{surfaceNames[surface] ?? surface}</td>
                  <td className="number">{done.toLocaleString()}</td>
                  <td className="number">
                    {refused > 0 ? <Badge tone="bad">{refused.toLocaleString()}</Badge> : '0'}
                  </td>
                  <td>
                    <Time at={lastAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </ScrollArea>
      )}
    </section>
  )
}
