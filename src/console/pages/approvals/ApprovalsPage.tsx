import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { approvalStatuses, listApprovals } from '../../../contract/approvals.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Pages } from '../../components/Pages.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { TimeLeft } from '../../components/TimeLeft.tsx'
import { useAccount } from '../../shell/account.ts'
import { approvalStatusWords } from '../../words/approvals.ts'
import { operationWords } from '../../words/operations.ts'
import type { NameOf } from '../../words/values.ts'
import { useNames } from '../activity/use-names.ts'
import { ApprovalBadge, requesterWords, titleWords } from './ApprovalFacts.tsx'

type Summary = OutputOf<typeof listApprovals>['approvals'][number]

const pageSize = 50

/** The approvals of an account: first those that wait for a decision, then all others, newest first. */
export function ApprovalsPage() {
  const { accountId, name } = useAccount()
  const { nameOf } = useNames(accountId)
  const pending = useRead(
    listApprovals,
    { accountId, status: 'pending', limit: 200 },
    { everyMs: everyMs.list },
  )
  return (
    <>
      <div className="page-head">
        <PageTitle>Approvals</PageTitle>
        <span className="muted">{name}</span>
      </div>
      <div className="stack">
        <section className="panel" aria-labelledby="waiting">
          <header>
            <h2 id="waiting">Waiting for a decision</h2>
          </header>
          {pending.error && !pending.data && <Failed error={pending.error} retry={() => pending.refetch()} />}
          {pending.isPending && <Loading rows={3} />}
          {pending.data?.approvals.length === 0 && (
            <Empty title="Nothing waits for a decision">
              Writes that a rule of the{' '}
              <Link to="/policy" search={({ account }) => ({ account })}>
                policy
              </Link>{' '}
              asks about, and plans of agents, wait here.
            </Empty>
          )}
          {pending.data && pending.data.approvals.length > 0 && (
            <Table
              label="List of approvals that wait"
              columns={[...columnsOf(nameOf), expires]}
              rows={pending.data.approvals}
              keyOf={({ approvalId }) => approvalId}
            />
          )}
        </section>
        <Others accountId={accountId} nameOf={nameOf} />
      </div>
    </>
  )
}

function Others({ accountId, nameOf }: { accountId: string; nameOf: NameOf }) {
  const { status, from: offset = 0 } = useSearch({ from: '/frame/approvals' })
  const navigate = useNavigate({ from: '/approvals' })
  const input = { accountId, status, limit: pageSize, offset }
  const { data, error, refetch } = useRead(listApprovals, input, { everyMs: everyMs.list, keep: true })
  const show = (change: { status?: typeof status; from?: number }) =>
    navigate({ search: ({ account }) => ({ account, status, ...change }), replace: true })
  const rows = data?.approvals.filter((one) => one.status !== 'pending') ?? []
  return (
    <section className="panel" aria-labelledby="others">
      <header>
        <h2 id="others">Earlier</h2>
        <select
          aria-label="Status"
          value={status ?? ''}
          onChange={(event) => show({ status: (event.target.value || undefined) as typeof status })}
        >
          <option value="">Every status</option>
          {approvalStatuses
            .filter((one) => one !== 'pending' && one !== 'approved')
            .map((one) => (
              <option key={one} value={one}>
                {approvalStatusWords[one].name}
              </option>
            ))}
        </select>
      </header>
      {error && !data && <Failed error={error} retry={() => refetch()} />}
      {!error && !data && <Loading rows={3} />}
      {data && rows.length === 0 && <Empty title="No approvals yet" />}
      {rows.length > 0 && (
        <Table
          label="List of earlier approvals"
          columns={[...columnsOf(nameOf), requested]}
          rows={rows}
          keyOf={({ approvalId }) => approvalId}
        />
      )}
      {data && (
        <Pages
          offset={offset}
          size={pageSize}
          total={data.total}
          go={(from) => show({ from: from || undefined })}
        />
      )}
    </section>
  )
}

const columnsOf = (nameOf: NameOf): Column<Summary>[] => [
  {
    title: 'Title',
    cell: ({ approvalId, ...summary }) => (
      <Link to="/approvals/$approvalId" params={{ approvalId }} search={({ account }) => ({ account })}>
        {titleWords(summary, nameOf)}
      </Link>
    ),
  },
  { title: 'Status', cell: ({ status }) => <ApprovalBadge status={status} /> },
  { title: 'Requested by', cell: ({ requestedBy }) => requesterWords(requestedBy) },
  {
    title: 'What',
    kind: 'muted',
    cell: ({ operations }) => [...new Set(operations)].map(operationWords).join(', '),
  },
]
const expires: Column<Summary> = { title: 'Expires in', cell: ({ expiresAt }) => <TimeLeft at={expiresAt} /> }
const requested: Column<Summary> = { title: 'Requested', cell: ({ createdAt }) => <Time at={createdAt} /> }
