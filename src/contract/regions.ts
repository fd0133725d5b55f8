import { z } from 'zod'
import { operation } from './operation.ts'

/**
 * `node`, `available`: where several machines share the installation, the one that runs the region, and whether it
 * works now. `isolation.metadataBlocked`: containers reach neither instance metadata nor services of the region's
 * machine.
 */
const region = z.object({
  region: z.string(),
  name: z.string(),
  functionDomain: z.string().nullable(),
  engine: z.string(),
  isolation: z.object({ metadataBlocked: z.boolean(), reason: z.string().optional() }),
  node: z.string().optional(),
  available: z.boolean().optional(),
  unavailableReason: z.string().optional(),
})
export type Region = z.output<typeof region>

export const listRegions = operation({
  id: 'list-regions',
  method: 'GET',
  path: '/regions',
  summary: 'Lists the regions environments can run in. Functions need one with a functionDomain (F5).',
  policy: { on: 'installation', environmentToken: true },
  input: z.strictObject({}),
  output: z.object({ regions: z.array(region) }),
})
