import { listRegions } from '../../contract/regions.ts'
import { handler } from '../core/handler.ts'

export default handler(listRegions, async ({ installation }) => ({
  answer: { regions: installation.regions() },
}))
