import { useNavigate, useSearch } from '@tanstack/react-router'
import { connectChatUser } from '../../../contract/chat.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'

/** The link that a chat shows to a person it does not know. It works once, and the reader decides. */
export function ChatPage() {
  const { code } = useSearch({ from: '/frame/chat' })
  const navigate = useNavigate()
  const leave = () => void navigate({ to: '/settings', replace: true })
  return (
    <>
      <div className="page-head">
        <PageTitle>Connect your chat user</PageTitle>
      </div>
      {code === undefined ? (
        <p className="note tone-idle">
          Type <code>/longshore status</code> in the chat: it shows you a link to this page.
        </p>
      ) : (
        <ConfirmWrite
          row={connectChatUser}
          input={{ code }}
          title="Let this chat user act as you?"
          action="Connect"
          dismiss="That is not me"
          changes={false}
          done={({ message }) => message}
          onClose={leave}
        >
          <p>Anybody can send you this link. Connect only if you got it in the chat just now, yourself.</p>
        </ConfirmWrite>
      )}
    </>
  )
}
