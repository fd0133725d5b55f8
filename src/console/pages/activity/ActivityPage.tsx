import { PageTitle } from '../../components/PageTitle.tsx'
import { useAccount } from '../../shell/account.ts'
import { Timeline } from './Timeline.tsx'

/** The audit log of the account, with undo. Admins only; the platform rejects other callers. */
export function ActivityPage() {
  const { accountId, name } = useAccount()
  return (
    <>
      <div className="page-head">
        <PageTitle>Activity</PageTitle>
        <span className="muted">{name}</span>
      </div>
      <Timeline accountId={accountId} />
    </>
  )
}
