import { useState } from 'react'
import {
  type ContactPoint,
  deleteContactPoint,
  listContactPoints,
  testContactPoint,
} from '../../../contract/contact-points.ts'
import { useKept } from '../../api/drafts.ts'
import { everyMs, useRead, useWrite } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { useAccount } from '../../shell/account.ts'
import { ContactPointDialog } from './ContactPointDialog.tsx'
import { contactPointTypeNames } from './type-words.ts'

type Listed = Omit<ContactPoint, 'config'>

/** Contact points of the account. Test notifications link here. */
export function ContactPointsPage() {
  const { accountId, name, permissions } = useAccount()
  const read = useRead(listContactPoints, { accountId }, { everyMs: everyMs.list })
  const [opened, setOpened] = useKept<string | null>(`open contact point ${accountId}`, null)
  const [deleting, setDeleting] = useState<Listed | null>(null)
  const points = read.data?.contactPoints
  const edited = points?.find(({ contactPointId }) => contactPointId === opened)
  return (
    <>
      <div className="page-head">
        <PageTitle>Contact points</PageTitle>
        <span className="muted">{name}</span>
        {permissions.admin && (
          <div className="actions">
            <button type="button" className="button primary" onClick={() => setOpened('new')}>
              New contact point
            </button>
          </div>
        )}
      </div>
      <section className="panel" aria-label="Contact points">
        {read.error && !points && <Failed error={read.error} retry={() => read.refetch()} />}
        {read.isPending && <Loading />}
        {points?.length === 0 && (
          <Empty title="No contact points yet">
            A contact point is where alerts send notifications: a webhook, a chat channel, email addresses or
            an incident service.
          </Empty>
        )}
        {points && points.length > 0 && (
          <PointTable points={points} isAdmin={permissions.admin} edit={setOpened} ask={setDeleting} />
        )}
      </section>
      {(opened === 'new' || edited) && (
        <ContactPointDialog point={edited ?? null} onClose={() => setOpened(null)} />
      )}
      {deleting && (
        <ConfirmWrite
          row={deleteContactPoint}
          input={{ contactPointId: deleting.contactPointId, expectedRevision: deleting.revision }}
          title={`Delete ${deleting.name}?`}
          action="Delete contact point"
          danger
          done={({ message }) => message}
          onClose={() => setDeleting(null)}
        />
      )}
    </>
  )
}

interface TableProps {
  points: readonly Listed[]
  isAdmin: boolean
  edit: (contactPointId: string) => void
  ask: (point: Listed) => void
}

const columns: Column<Listed>[] = [
  { title: 'Name', cell: ({ name }) => name },
  { title: 'Type', cell: ({ type }) => contactPointTypeNames[type] },
  { title: 'Created', kind: 'muted', cell: ({ createdAt }) => <Time at={createdAt} /> },
]
const testColumn: Column<Listed> = { title: 'Test', cell: (point) => <Test point={point} /> }

function PointTable({ points, isAdmin, edit, ask }: TableProps) {
  const actions = (point: Listed) => (
    <>
      <button
        type="button"
        className="button compact"
        aria-label={`Edit ${point.name}`}
        onClick={() => edit(point.contactPointId)}
      >
        Edit
      </button>
      <button
        type="button"
        className="button quiet compact"
        aria-label={`Delete ${point.name}`}
        onClick={() => ask(point)}
      >
        Delete
      </button>
    </>
  )
  return (
    <Table
      label="List of contact points"
      columns={isAdmin ? [...columns, testColumn] : columns}
      rows={points}
      keyOf={({ contactPointId }) => contactPointId}
      actions={isAdmin ? actions : undefined}
    />
  )
}

/** Sends a test notification and shows whether it arrived. */
function Test({ point: { contactPointId, name } }: { point: Listed }) {
  const write = useWrite(testContactPoint)
  const last = write.data?.attempts.at(-1)
  return (
    <div className="row">
      <button
        type="button"
        className="button compact"
        aria-label={`Send test to ${name}`}
        disabled={write.isPending}
        onClick={() => write.mutate({ contactPointId })}
      >
        {write.isPending ? 'Sending…' : 'Send test'}
      </button>
      <span role="status" className="small">
        {write.data && (
          <Badge tone={write.data.delivered ? 'ok' : 'bad'}>
            {write.data.delivered ? 'Delivered' : 'Not delivered'}
          </Badge>
        )}{' '}
        {last?.reason ?? write.error?.message} {write.error?.details}
      </span>
    </div>
  )
}
