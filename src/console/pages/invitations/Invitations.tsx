import { useState } from 'react'
import { acceptInvitation, declineInvitation, listInvitations } from '../../../contract/invitations.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'

type Invitation = OutputOf<typeof listInvitations>['invitations'][number]

const columns: Column<Invitation>[] = [
  { title: 'Account', cell: ({ accountName }) => accountName },
  {
    title: 'Invited by',
    cell: ({ invitedBy: { name, email } }) => (
      <>
        {name} <span className="muted small">{email}</span>
      </>
    ),
  },
  {
    title: 'Permissions',
    kind: 'muted',
    cell: ({ admin, manageMembers, access }) =>
      [
        admin && 'Admin',
        manageMembers && 'Manage Members',
        access === 'full' ? 'Full access' : 'Access to some environments',
      ]
        .filter(Boolean)
        .join(', '),
  },
  { title: 'Sent', kind: 'muted', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

const answers = {
  accept: { row: acceptInvitation, title: 'Accept this invitation?', action: 'Accept' },
  decline: { row: declineInvitation, title: 'Decline this invitation?', action: 'Decline' },
} as const

/** Accounts that invite the reader. Their names are chosen by the people of those accounts. */
export function Invitations() {
  const read = useRead(listInvitations, {}, { everyMs: 30_000 })
  const [chosen, setChosen] = useState<{ invitation: Invitation; answer: keyof typeof answers } | null>(null)
  const invitations = read.data?.invitations
  return (
    <section className="panel" aria-labelledby="invitations">
      <header>
        <h2 id="invitations">Invitations</h2>
        <span className="muted small">To you, from other accounts</span>
      </header>
      {read.error && !invitations && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading rows={1} />}
      {invitations?.length === 0 && <Empty title="No invitations" />}
      {invitations && invitations.length > 0 && (
        <Table
          label="List of invitations"
          columns={columns}
          rows={invitations}
          keyOf={({ invitationId }) => invitationId}
          actions={(invitation) =>
            (['accept', 'decline'] as const).map((answer) => (
              <button
                key={answer}
                type="button"
                className="button compact"
                onClick={() => setChosen({ invitation, answer })}
              >
                {answers[answer].action}
                <span className="hidden-text"> {invitation.accountName}</span>
              </button>
            ))
          }
        />
      )}
      {chosen && <Answer {...chosen} onClose={() => setChosen(null)} />}
    </section>
  )
}

interface AnswerProps {
  invitation: Invitation
  answer: keyof typeof answers
  onClose: () => void
}

function Answer({ invitation: { invitationId, accountName }, answer, onClose }: AnswerProps) {
  const { row, title, action } = answers[answer]
  return (
    <ConfirmWrite
      row={row}
      input={{ invitationId }}
      title={title}
      action={action}
      danger={answer === 'decline'}
      done={({ message }) => message}
      onClose={onClose}
    >
      <p>
        <strong>{accountName}</strong>
      </p>
    </ConfirmWrite>
  )
}
