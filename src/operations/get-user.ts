import { getUser } from '../contract/users.ts'
import { findUser } from '../store/users.ts'
import { handler } from './handler.ts'
import { userOf } from './user-of.ts'

export default handler(getUser, async ({ tx, caller }) => {
  const user = await findUser(tx, { userId: userOf(caller) })
  if (!user) throw new Error('a token of a user who is not there')
  return { answer: user }
})
