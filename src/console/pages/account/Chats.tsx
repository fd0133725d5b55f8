import { useState } from 'react'
import {
  type ChatConnection,
  deleteChatConnection,
  listChatConnections,
  listChatUsers,
  removeChatUser,
} from '../../../contract/chat.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { useAccount } from '../../shell/account.ts'

type ChatUser = OutputOf<typeof listChatUsers>['users'][number]

const kinds = { 'slack-socket': 'Slack', 'slack-http': 'Slack-compatible, over HTTP' } as const

const connectionColumns: Column<ChatConnection>[] = [
  { title: 'Name', cell: ({ name }) => name },
  { title: 'Kind', cell: ({ kind }) => kinds[kind] },
  { title: 'Messages to', cell: ({ channel }) => channel ?? 'Nowhere' },
  {
    title: 'Waiting',
    cell: ({ waiting, problem }) => (problem === null ? waiting : `${waiting}: ${problem}`),
  },
  { title: 'Created', kind: 'muted', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

const userColumns: Column<ChatUser>[] = [
  { title: 'Member', cell: ({ name, email }) => `${name} (${email})` },
  { title: 'Chat user', cell: ({ chatName, chatUser }) => `${chatName} (${chatUser})` },
  { title: 'Workspace', cell: ({ workspace }) => workspace },
  { title: 'Connected', kind: 'muted', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

/** Chats from which people operate the account, and which chat user acts as which member. */
export function Chats() {
  const { accountId, permissions } = useAccount()
  const [deleting, setDeleting] = useState<ChatConnection | null>(null)
  const read = useRead(listChatConnections, { accountId }, { everyMs: everyMs.list })
  const connections = read.data?.connections
  return (
    <section className="panel" aria-labelledby="chats">
      <header>
        <h2 id="chats">Chats</h2>
        <span className="muted small">Where people operate the account with /longshore</span>
      </header>
      {read.error && !connections && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading rows={1} />}
      {connections?.length === 0 && (
        <Empty title="No chat is connected">
          <code>longshore chat connect</code> connects Slack, or a compatible server.
        </Empty>
      )}
      {connections && connections.length > 0 && (
        <Table
          label="List of chats"
          columns={connectionColumns}
          rows={connections}
          keyOf={({ connectionId }) => connectionId}
          actions={
            permissions.admin
              ? (one) => <Action label="Disconnect" name={one.name} act={() => setDeleting(one)} />
              : undefined
          }
        />
      )}
      {connections && connections.length > 0 && <ChatUsers />}
      {deleting && (
        <ConfirmWrite
          row={deleteChatConnection}
          input={{ connectionId: deleting.connectionId, expectedRevision: deleting.revision }}
          title={`Disconnect ${deleting.name}?`}
          action="Disconnect chat"
          danger
          done={({ message }) => message}
          onClose={() => setDeleting(null)}
        />
      )}
    </section>
  )
}

function ChatUsers() {
  const { accountId, permissions } = useAccount()
  const [removing, setRemoving] = useState<ChatUser | null>(null)
  const users = useRead(listChatUsers, { accountId }, { everyMs: everyMs.list }).data?.users
  if (!users || users.length === 0) return null
  const mayRemove = permissions.admin || permissions.manageMembers
  return (
    <>
      <Table
        label="List of chat users"
        columns={userColumns}
        rows={users}
        keyOf={({ chatUserId }) => chatUserId}
        actions={
          mayRemove
            ? (one) => <Action label="Remove" name={one.chatName} act={() => setRemoving(one)} />
            : undefined
        }
      />
      {removing && (
        <ConfirmWrite
          row={removeChatUser}
          input={{ accountId, chatUserId: removing.chatUserId }}
          title={`Remove the chat user ${removing.chatName}?`}
          action="Remove chat user"
          danger
          done={({ message }) => message}
          onClose={() => setRemoving(null)}
        />
      )}
    </>
  )
}

function Action({ label, name, act }: { label: string; name: string; act: () => void }) {
  return (
    <button type="button" className="button quiet compact" aria-label={`${label} ${name}`} onClick={act}>
      {label}
    </button>
  )
}
