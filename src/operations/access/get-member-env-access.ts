import { getMemberEnvAccess } from '../../contract/members.ts'
import { handler } from '../core/handler.ts'
import { envAccessResponse } from './member-access.ts'

export default handler(getMemberEnvAccess, async (_context, _input, { account, member }) => ({
  answer: envAccessResponse(account, member),
}))
