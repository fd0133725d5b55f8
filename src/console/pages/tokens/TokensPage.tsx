import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { OutputOf } from '../../../contract/operation.ts'
import { listUserTokens, revokeUserToken } from '../../../contract/users.ts'
import { useKept } from '../../api/drafts.ts'
import { useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { ShownOnce } from '../../components/ShownOnce.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { useAccount } from '../../shell/account.ts'
import { tokenName } from '../../words/tokens.ts'
import { CreateTokenDialog } from './CreateTokenDialog.tsx'
import { EnvironmentTokens } from './EnvironmentTokens.tsx'
import { RotateDialog } from './RotateDialog.tsx'

type Token = OutputOf<typeof listUserTokens>['tokens'][number]
interface Made {
  title: string
  token: string
}

/** The reader's own tokens, and the tokens of environments. A new token is shown once. */
export function TokensPage() {
  const { permissions } = useAccount()
  const [made, setMade] = useState<Made | null>(null)
  return (
    <>
      <div className="page-head">
        <PageTitle>Tokens</PageTitle>
      </div>
      <div className="stack">
        {made && <ShownOnce title={made.title} token={made.token} onClose={() => setMade(null)} />}
        <UserTokens onMade={setMade} />
        {permissions.admin && <EnvironmentTokens onMade={setMade} />}
      </div>
    </>
  )
}

function UserTokens({ onMade }: { onMade: (made: Made) => void }) {
  const read = useRead(listUserTokens, {}, { everyMs: 15_000 })
  const [creates, setCreates] = useKept('open token', false)
  const [confirming, setConfirming] = useState<'rotate' | Token | null>(null)
  const close = () => setConfirming(null)
  return (
    <section className="panel" aria-labelledby="user-tokens">
      <header>
        <h2 id="user-tokens">Your tokens</h2>
        <span className="muted small">
          For agents, the command line and programs, and agents that signed in. Valid in all your accounts.
        </span>
        <div className="actions">
          <button type="button" className="button primary" onClick={() => setCreates(true)}>
            Create token
          </button>
        </div>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading />}
      {read.data && (
        <TokenTable tokens={read.data.tokens} revoke={setConfirming} rotate={() => setConfirming('rotate')} />
      )}
      {creates && (
        <CreateTokenDialog
          onMade={(name, token) => onMade({ title: `Token “${name}”`, token })}
          onClose={() => setCreates(false)}
        />
      )}
      {confirming === 'rotate' && (
        <RotateDialog onMade={(token) => onMade({ title: 'Your new token', token })} onClose={close} />
      )}
      {confirming !== null && typeof confirming === 'object' && (
        <ConfirmWrite
          row={revokeUserToken}
          input={{ tokenId: confirming.tokenId }}
          title={`Revoke “${tokenName(confirming)}”?`}
          action="Revoke token"
          danger
          done={({ message }) => message}
          onClose={close}
        />
      )}
    </section>
  )
}

interface TableProps {
  tokens: readonly Token[]
  revoke: (token: Token) => void
  rotate: () => void
}

const columns: Column<Token>[] = [
  {
    title: 'Name',
    cell: (token) => (
      <>
        <TokenName token={token} /> {token.current && <Badge tone="busy">This session</Badge>}
        {token.agent && <Badge tone="idle">Agent</Badge>}
      </>
    ),
  },
  {
    title: 'May',
    kind: 'muted',
    cell: ({ readOnly, agent }) =>
      agent ? <AgentMay agent={agent} /> : readOnly ? 'Read only' : 'Everything you may',
  },
  { title: 'Created', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: 'Expires', cell: expiryOf },
  {
    title: 'Last used',
    cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : <span className="muted">Never</span>),
  },
]

/** The access that a person gave an agent that signed in. */
function AgentMay({ agent }: { agent: NonNullable<Token['agent']> }) {
  const { scopes, groups, pin, host } = agent
  const place = pin.environments?.join(', ') ?? pin.env ?? pin.app ?? pin.account
  return (
    <>
      {scopes.join(', ')}
      {place && <> in {place}</>}
      {groups && <>, tools: {groups.join(', ')}</>}
      <span className="small"> ({host})</span>
    </>
  )
}

/** A link to the activity of the token, for readers of the audit log. */
function TokenName({ token }: { token: Token }) {
  const { permissions } = useAccount()
  if (!permissions.admin) return tokenName(token)
  const { tokenId } = token
  return (
    <Link to="/tokens/$tokenId" params={{ tokenId }} search={({ account }) => ({ account })}>
      {tokenName(token)}
    </Link>
  )
}

function expiryOf({ expiresAt, expired }: Token) {
  if (expiresAt === null) return <span className="muted">Never</span>
  return (
    <>
      {expired && <Badge tone="idle">Expired</Badge>} <Time at={expiresAt} />
    </>
  )
}

function TokenTable({ tokens, revoke, rotate }: TableProps) {
  return (
    <Table
      label="List of tokens"
      columns={columns}
      rows={tokens}
      keyOf={({ tokenId }) => tokenId}
      actions={(token) => (
        <button
          type="button"
          className="button compact"
          onClick={() => (token.current ? rotate() : revoke(token))}
        >
          {token.current ? 'Rotate' : 'Revoke'}
          <span className="hidden-text"> {tokenName(token)}</span>
        </button>
      )}
    />
  )
}
