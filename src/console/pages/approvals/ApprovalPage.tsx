import { Link, Navigate, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import {
  type Approval,
  decideApproval,
  getApproval,
  refreshApproval,
  withdrawApproval,
} from '../../../contract/approvals.ts'
import { getUser } from '../../../contract/users.ts'
import { everyMs, useRead, useWrite } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Failed, Loading, Problem } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAccount } from '../../shell/account.ts'
import { endWords } from '../../words/approvals.ts'
import type { NameOf } from '../../words/values.ts'
import { useNames } from '../activity/use-names.ts'
import { ApprovalBadge, ApprovalFacts, titleWords } from './ApprovalFacts.tsx'
import { ApprovalSteps } from './ApprovalSteps.tsx'
import { Decide } from './Decide.tsx'

/** One approval: what it would do, the decision over exactly that, and afterwards what it did. */
export function ApprovalPage() {
  const { accountId, permissions } = useAccount()
  const { approvalId } = useParams({ from: '/frame/approvals/$approvalId' })
  const read = useRead(getApproval, { approvalId }, { everyMs: everyMs.status })
  const { nameOf } = useNames(accountId)
  const approval = read.data
  if (read.error && (!approval || read.error.kind === 'not-found'))
    return <Failed error={read.error} hidesForbidden retry={() => read.refetch()} />
  if (!approval) return <Loading rows={6} />
  // Addresses of approvals name no account.
  if (approval.accountId !== accountId)
    return (
      <Navigate
        to="/approvals/$approvalId"
        params={{ approvalId }}
        search={{ account: approval.accountId }}
        replace
      />
    )
  const operations = approval.steps.map(({ operation }) => operation)
  const title = titleWords({ ...approval, operations }, nameOf)
  const shown = { approval, nameOf, isAdmin: permissions.admin }
  return (
    <>
      <div className="page-head">
        <PageTitle>{title}</PageTitle>
        <ApprovalBadge status={approval.status} />
        {endWords[approval.status] && <span className="muted">{endWords[approval.status]}</span>}
        <Withdraw approval={approval} title={title} />
      </div>
      <div className="stack">
        {approval.status === 'stale' && <Stale approval={approval} nameOf={nameOf} />}
        <ApprovalFacts {...shown} />
        <ApprovalSteps {...shown} />
        {approval.status === 'pending' && <DecideHere approval={approval} />}
      </div>
    </>
  )
}

function DecideHere({ approval }: { approval: Approval }) {
  const { approvalId, reviewDigest } = approval
  const write = useWrite(decideApproval)
  const { data: user } = useRead(getUser, {})
  return (
    <Decide
      approval={approval}
      userId={user?.userId}
      write={write}
      decide={(decision) =>
        write.mutate(
          { approvalId, reviewDigest, ...decision },
          { onSuccess: ({ message }) => toast(message) },
        )
      }
    />
  )
}

/** What was shown no longer holds: names what moved, and makes a new one to look at. */
function Stale({ approval, nameOf }: { approval: Approval; nameOf: NameOf }) {
  const { approvalId, moved, replacedBy } = approval
  const navigate = useNavigate()
  const write = useWrite(refreshApproval)
  const open = (id: string) =>
    navigate({
      to: '/approvals/$approvalId',
      params: { approvalId: id },
      search: ({ account }) => ({ account }),
    })
  return (
    <div role="alert" className="note tone-warn stack">
      <strong>Approval is stale</strong>
      {moved.length > 0 && (
        <ul className="effects">
          {moved.map(({ type, id }) => (
            <li key={`${type} ${id}`}>
              Changed since this was shown: {type} {nameOf(id)}{' '}
              <Link to="/activity" search={({ account }) => ({ account, object: id })}>
                See what changed<span className="hidden-text"> in {nameOf(id) ?? type}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      <Problem error={write.error} />
      <div className="row">
        {replacedBy === null ? (
          <button
            type="button"
            className="button"
            disabled={write.isPending}
            onClick={() =>
              write.mutate({ approvalId }, { onSuccess: ({ approvalId: fresh }) => void open(fresh) })
            }
          >
            Refresh
          </button>
        ) : (
          <button type="button" className="button" onClick={() => open(replacedBy)}>
            Open the newer one
          </button>
        )}
        <span className="muted small">A new approval shows the effects as of now.</span>
      </div>
    </div>
  )
}

/** For its requester and for admins. */
function Withdraw({
  approval: { approvalId, status, requestedBy },
  title,
}: {
  approval: Approval
  title: string
}) {
  const { permissions } = useAccount()
  const { data: user } = useRead(getUser, {})
  const [confirming, setConfirming] = useState(false)
  const isOwn = user !== undefined && requestedBy.userId === user.userId
  if ((status !== 'pending' && status !== 'stale') || (!permissions.admin && !isOwn)) return null
  return (
    <div className="actions">
      <button type="button" className="button" onClick={() => setConfirming(true)}>
        Withdraw
      </button>
      {confirming && (
        <ConfirmWrite
          row={withdrawApproval}
          input={{ approvalId }}
          title={`Withdraw “${title}”?`}
          action="Withdraw"
          changes={false}
          done={({ message }) => message}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  )
}
