import { Link } from '@tanstack/react-router'
import { listInvitations } from '../../contract/invitations.ts'
import { useRead } from '../api/queries.ts'

/** Announces invitations of other accounts, with a link to them. */
export function InvitationsHint() {
  const read = useRead(listInvitations, {}, { everyMs: 30_000 })
  const count = read.data?.invitations.length ?? 0
  if (count === 0) return null
  return (
    <Link to="/settings" search={({ account }) => ({ account })} className="button compact">
      {count === 1 ? 'You have an invitation' : `You have ${count} invitations`}
    </Link>
  )
}
