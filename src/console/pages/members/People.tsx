import { useState } from 'react'
import { removeMember } from '../../../contract/members.ts'
import { useKept } from '../../api/drafts.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { ShownOnce } from '../../components/ShownOnce.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { useAccount } from '../../shell/account.ts'
import { AddMemberDialog } from './AddMemberDialog.tsx'
import type { ListedEnvironment, Member } from './access-draft.ts'

interface Props {
  members: readonly Member[]
  environments: readonly ListedEnvironment[]
}

/** The members with their permissions; adding one shows the token of a new user once. */
export function People({ members, environments }: Props) {
  const { accountId } = useAccount()
  const [adds, setAdds] = useKept(`open member ${accountId}`, false)
  const [confirming, setConfirming] = useState<Member | null>(null)
  const [made, setMade] = useState<{ email: string; token: string } | null>(null)
  return (
    <section className="panel" aria-labelledby="people">
      <header>
        <h2 id="people">Members</h2>
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setAdds(true)}>
            Add member
          </button>
        </div>
      </header>
      {made && (
        <div className="body">
          <ShownOnce title={`Token of ${made.email}`} token={made.token} onClose={() => setMade(null)} />
        </div>
      )}
      <MemberTable members={members} environments={environments} remove={setConfirming} />
      {adds && (
        <AddMemberDialog
          environments={environments}
          onAdded={(email, token) => setMade(token === null ? null : { email, token })}
          onClose={() => setAdds(false)}
        />
      )}
      {confirming && (
        <ConfirmWrite
          row={removeMember}
          input={{ accountId, membershipId: confirming.membershipId, expectedRevision: confirming.revision }}
          title={`Remove ${confirming.name}?`}
          action="Remove member"
          danger
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
        />
      )}
    </section>
  )
}

const columns: Column<Member>[] = [
  { title: 'Name', cell: ({ name }) => name },
  { title: 'E-mail', cell: ({ email }) => email },
  {
    title: 'Permissions',
    kind: 'muted',
    cell: ({ admin, manageMembers }) =>
      [admin && 'Admin', manageMembers && 'Manage Members'].filter(Boolean).join(', ') || 'Member',
  },
]

function MemberTable({ members, environments, remove }: Props & { remove: (member: Member) => void }) {
  const known = new Set(environments.map(({ appEnvId }) => appEnvId))
  const access = ({ allowedAppEnvIds: ids }: Member) =>
    ids.length === 0 ? 'Full' : `${ids.filter((id) => known.has(id)).length} of ${known.size} environments`
  return (
    <Table
      label="List of members"
      columns={[...columns, { title: 'Access', cell: access }]}
      rows={members}
      keyOf={({ membershipId }) => membershipId}
      actions={(member) => (
        <button type="button" className="button quiet compact" onClick={() => remove(member)}>
          Remove<span className="hidden-text"> {member.name}</span>
        </button>
      )}
    />
  )
}
