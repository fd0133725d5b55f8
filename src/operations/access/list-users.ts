import { listUsers } from '../../contract/sign-in.ts'
import { listUsersByAddress } from '../../store/repositories/users.ts'
import { handler } from '../core/handler.ts'

export default handler(listUsers, async ({ tx }, { search, limit, cursor }) => {
  const found = await listUsersByAddress(tx, { search, after: cursor, limit: limit + 1 })
  const users = found.slice(0, limit)
  return { answer: { users, cursor: found.length > limit ? users.at(-1)!.email : null } }
})
