import { getPolicy } from '../../contract/policy.ts'
import { handler } from '../core/handler.ts'

export default handler(getPolicy, async ({ installation }, _input, { policy }) => {
  const { accountId, revision, content } = policy
  return { answer: { accountId, ...content, revision, platform: installation.policy } }
})
