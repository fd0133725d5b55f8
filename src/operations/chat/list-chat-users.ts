import { listChatUsers } from '../../contract/chat.ts'
import { listChatUsersOf } from '../../store/repositories/chat-users.ts'
import { findUsers } from '../../store/repositories/users.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(listChatUsers, async ({ tx, caller }, _input, { account, membership }) => {
  const seesAll = membership.admin || membership.manageMembers
  const all = await listChatUsersOf(tx, account.accountId)
  const shown = seesAll ? all : all.filter(({ userId }) => userId === userOf(caller))
  const people = await findUsers(tx, [...new Set(shown.map(({ userId }) => userId))])
  const users = shown.map(({ tokenId: _token, accountId: _account, ...one }) => {
    const { email = '', name = '' } = people.get(one.userId) ?? {}
    return { ...one, email, name }
  })
  return { answer: { users } }
})
