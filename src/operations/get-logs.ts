import { getLogs } from '../contract/app-env-reads.ts'
import { handler } from './handler.ts'

export default handler(getLogs, async ({ logs }, input, { environment }) => {
  const { appEnvId: _id, envName: _name, ...query } = input
  return { answer: { appEnvId: environment.appEnvId, ...(await logs.read(environment.appEnvId, query)) } }
})
