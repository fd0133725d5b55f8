import { listInstances } from '../../contract/instances.ts'
import { handler } from '../core/handler.ts'

export default handler(listInstances, async ({ installation }) => ({
  answer: { instances: installation.instances() },
}))
