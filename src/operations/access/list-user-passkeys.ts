import { listUserPasskeys } from '../../contract/sign-in.ts'
import { listPasskeys } from '../../store/repositories/passkeys.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(listUserPasskeys, async ({ tx, caller }) => {
  const stored = await listPasskeys(tx, userOf(caller))
  const passkeys = stored.map(({ passkeyId, name, rpId, backedUp, createdAt, usedAt: lastUsedAt }) => {
    return { passkeyId, name, rpId, backedUp, createdAt, lastUsedAt }
  })
  return { answer: { passkeys } }
})
