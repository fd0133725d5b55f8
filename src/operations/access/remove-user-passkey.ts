import { removeUserPasskey } from '../../contract/sign-in.ts'
import { deletePasskey, listPasskeys } from '../../store/repositories/passkeys.ts'
import { notFound } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(removeUserPasskey, async ({ tx, caller }, { passkeyId }) => {
  const passkey = (await listPasskeys(tx, userOf(caller))).find((one) => one.passkeyId === passkeyId)
  if (!passkey) throw notFound('passkey')
  await deletePasskey(tx, passkeyId)
  const { name, rpId } = passkey
  return {
    answer: { message: 'Passkey removed' },
    change: {
      ...{ objectType: 'passkey', objectId: passkeyId, accountId: null },
      ...{ before: { name, rpId }, after: null },
    },
    impact: { actions: ['change-credential'] },
    effects: ['It cannot sign in any more. Open sessions stay: end-user-sessions ends them.'],
  }
})
