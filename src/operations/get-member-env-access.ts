import { getMemberEnvAccess } from '../contract/members.ts'
import { handler } from './handler.ts'
import { envAccessAnswer } from './member-access.ts'

export default handler(getMemberEnvAccess, async (_context, _input, { account, member }) => ({
  answer: envAccessAnswer(account, member),
}))
