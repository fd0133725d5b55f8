import { useState } from 'react'
import type { OutputOf } from '../../../contract/operation.ts'
import { endUserSessions, listUserSessions } from '../../../contract/sign-in.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { Passkeys } from './Passkeys.tsx'

/** The reader's passkeys, and the browsers in which they are signed in. */
export function PasskeysPage() {
  return (
    <>
      <div className="page-head">
        <PageTitle>Passkeys and sessions</PageTitle>
      </div>
      <div className="stack">
        <Passkeys />
        <Sessions />
      </div>
    </>
  )
}

type Session = OutputOf<typeof listUserSessions>['sessions'][number]

const methodWords: Record<NonNullable<Session['method']>, string> = {
  token: 'Token',
  link: 'One-time link',
  email: 'Link by e-mail',
  passkey: 'Passkey',
  oidc: 'OpenID Connect',
}

const columns: Column<Session>[] = [
  {
    title: 'Browser',
    cell: ({ userAgent, current }) => (
      <>
        {userAgent ?? 'Unknown'} {current && <Badge tone="busy">This browser</Badge>}
      </>
    ),
  },
  { title: 'Address', kind: 'muted', cell: ({ clientAddress }) => clientAddress ?? 'Unknown' },
  { title: 'Signed in by', kind: 'muted', cell: ({ method }) => (method ? methodWords[method] : 'Unknown') },
  { title: 'Since', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Last used', cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
]

function Sessions() {
  const read = useRead(listUserSessions, {}, { everyMs: 15_000 })
  const [ending, setEnding] = useState<Session | 'all' | null>(null)
  const one = ending !== null && ending !== 'all' ? ending : null
  return (
    <section className="panel" aria-labelledby="sessions">
      <header>
        <h2 id="sessions">Sessions</h2>
        <span className="muted small">Browsers in which you are signed in.</span>
        <div className="actions">
          <button type="button" className="button" onClick={() => setEnding('all')}>
            Sign out everywhere
          </button>
        </div>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading />}
      {read.data && (
        <Table
          label="List of sessions"
          columns={columns}
          rows={read.data.sessions}
          keyOf={({ sessionId }) => sessionId}
          actions={(session) => (
            <button type="button" className="button compact" onClick={() => setEnding(session)}>
              Sign out<span className="hidden-text"> {session.userAgent}</span>
            </button>
          )}
        />
      )}
      {ending !== null && (
        <ConfirmWrite
          row={endUserSessions}
          input={one === null ? {} : { sessionId: one.sessionId }}
          title={one === null ? 'Sign out everywhere?' : 'Sign this browser out?'}
          action="Sign out"
          danger
          changes={false}
          done={({ message }) => message}
          onClose={() => setEnding(null)}
        />
      )}
    </section>
  )
}
