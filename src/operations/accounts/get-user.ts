import { getUser } from '../../contract/users.ts'
import { findUser } from '../../store/repositories/users.ts'
import { handler } from '../core/handler.ts'
import { isOperator } from '../core/operators.ts'
import { userOf } from '../core/user-of.ts'

export default handler(getUser, async ({ tx, caller }) => {
  const user = await findUser(tx, { userId: userOf(caller) })
  if (!user) throw new Error('the token belongs to a user that does not exist')
  return { answer: { ...user, operator: await isOperator(tx, user.userId) } }
})
