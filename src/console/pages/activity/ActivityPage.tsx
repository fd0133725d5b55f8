import { Link, useSearch } from '@tanstack/react-router'
import { PageTitle } from '../../components/PageTitle.tsx'
import { useAccount } from '../../shell/account.ts'
import { Timeline } from './Timeline.tsx'

/** The audit log of the account, with undo. Admins only; the platform rejects other callers. */
export function ActivityPage() {
  const { accountId, name } = useAccount()
  const { approval } = useSearch({ from: '/frame/activity' })
  return (
    <>
      <div className="page-head">
        <PageTitle>Activity</PageTitle>
        <span className="muted">{name}</span>
      </div>
      {approval !== undefined && (
        <p className="note tone-idle pending">
          Only the steps of one approval.{' '}
          <Link to="/activity" search={({ account }) => ({ account })}>
            Show all activity
          </Link>
        </p>
      )}
      <Timeline accountId={accountId} />
    </>
  )
}
