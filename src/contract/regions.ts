import { z } from 'zod'
import { operation } from './operation.ts'

export const region = z.object({
  region: z.string(),
  name: z.string(),
  functionDomain: z.string().nullable(),
  engine: z.string(),
})

export const listRegions = operation({
  id: 'list-regions',
  method: 'GET',
  path: '/regions',
  summary: 'Lists the regions environments can run in. Functions need one with a functionDomain (F5).',
  policy: { on: 'installation', environmentToken: true },
  input: z.strictObject({}),
  output: z.object({ regions: z.array(region) }),
})
