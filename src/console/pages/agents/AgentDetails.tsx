import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { listApprovals } from '../../../contract/approvals.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { getPolicy } from '../../../contract/policy.ts'
import { getUser, listUserTokens, revokeUserToken } from '../../../contract/users.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { counted } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import { operationWords } from '../../words/operations.ts'
import { limitsWords } from '../../words/token-limits.ts'
import { tokenName } from '../../words/tokens.ts'
import type { NameOf } from '../../words/values.ts'
import { useNames } from '../activity/use-names.ts'
import { ApprovalBadge } from '../approvals/ApprovalFacts.tsx'
import { BudgetBars } from '../policy/BudgetBars.tsx'

interface Props {
  accountId: string
  principalId: string
  agent: string
}

/** What an agent requested approval for, how far it used its budgets, and the tokens with which it acts. */
export function AgentDetails(props: Props) {
  return (
    <>
      <Requests {...props} />
      <Budgets {...props} />
      <AgentTokens {...props} />
    </>
  )
}

const mostRead = 200

function Requests({ accountId, principalId, agent }: Props) {
  const read = useRead(listApprovals, { accountId, limit: mostRead }, { everyMs: everyMs.list })
  const requests = (read.data?.approvals ?? []).filter(
    ({ requestedBy }) => requestedBy.userId === principalId && requestedBy.agent === agent,
  )
  if (requests.length === 0) return null
  return (
    <section className="panel" aria-labelledby="requests">
      <header>
        <h2 id="requests">Requested approval</h2>
        <span className="muted small">{counted(requests.length, 'approval')}</span>
      </header>
      <Table
        label="List of approvals that it requested"
        columns={requestColumns}
        rows={requests.slice(0, 10)}
        keyOf={({ approvalId }) => approvalId}
      />
    </section>
  )
}

type Requests = OutputOf<typeof listApprovals>['approvals'][number]

const requestColumns: Column<Requests>[] = [
  {
    title: 'What',
    cell: ({ approvalId, operations, title }) => (
      <Link to="/approvals/$approvalId" params={{ approvalId }} search={({ account }) => ({ account })}>
        {operations.length === 1 ? operationWords(operations[0]!) : title}
      </Link>
    ),
  },
  { title: 'Status', cell: ({ status }) => <ApprovalBadge status={status} /> },
  { title: 'When', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

function Budgets({ accountId, principalId, agent }: Props) {
  const { permissions } = useAccount()
  const input = { accountId, withUsage: permissions.admin }
  const { data } = useRead(getPolicy, input, { everyMs: everyMs.chart })
  const usage = (data?.usage ?? []).filter((use) => use.subjectId === principalId && use.agent === agent)
  if (usage.length === 0) return null
  return (
    <section className="panel" aria-labelledby="used">
      <header>
        <h2 id="used">Budgets</h2>
      </header>
      <BudgetBars usage={usage} />
    </section>
  )
}

type Token = OutputOf<typeof listUserTokens>['tokens'][number]

/** Only their owner sees tokens. */
function AgentTokens({ accountId, principalId, agent }: Props) {
  const own = useRead(getUser, {}).data?.userId === principalId
  const read = useRead(listUserTokens, {}, { enabled: own })
  const { nameOf } = useNames(accountId)
  const [revoking, setRevoking] = useState<Token | null>(null)
  const tokens = (read.data?.tokens ?? []).filter(
    (token) => token.kind === 'agent' && (token.label ?? token.name) === agent,
  )
  if (!own || tokens.length === 0) return null
  return (
    <section className="panel" aria-labelledby="limits">
      <header>
        <h2 id="limits">Its tokens and their limits</h2>
      </header>
      <Table
        label="List of its tokens"
        columns={tokenColumns(nameOf)}
        rows={tokens}
        keyOf={({ tokenId }) => tokenId}
        actions={(token) => (
          <button type="button" className="button compact" onClick={() => setRevoking(token)}>
            Revoke<span className="hidden-text"> {tokenName(token)}</span>
          </button>
        )}
      />
      {revoking && (
        <ConfirmWrite
          row={revokeUserToken}
          input={{ tokenId: revoking.tokenId }}
          title={`Revoke “${tokenName(revoking)}”?`}
          action="Revoke token"
          danger
          done={({ message }) => message}
          onClose={() => setRevoking(null)}
        />
      )}
    </section>
  )
}

const tokenColumns = (nameOf: NameOf): Column<Token>[] => [
  {
    title: 'Token',
    cell: (token) => (
      <>
        {tokenName(token)} {token.expired && <Badge tone="idle">Expired</Badge>}
      </>
    ),
  },
  { title: 'May', kind: 'muted', cell: (token) => limitsWords(token, nameOf) },
  { title: 'Expires', cell: ({ expiresAt }) => (expiresAt === null ? 'Never' : <Time at={expiresAt} />) },
  { title: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : 'Never') },
]
