import { z } from 'zod'
import { isoTime } from './fields.ts'
import { operation } from './operation.ts'

/** One running control plane. `leases`: the parts of the work that only one instance does at a time. */
const instance = z.object({
  node: z.string(),
  version: z.string(),
  startedAt: isoTime,
  lastSeenAt: isoTime,
  leases: z.array(z.object({ name: z.string(), since: isoTime })),
  regions: z.array(z.string()),
})
export type Instance = z.output<typeof instance>

export const listInstances = operation({
  id: 'list-instances',
  method: 'GET',
  path: '/instances',
  summary: 'Lists the running control planes of the installation.',
  policy: { on: 'installation', operatorOnly: true },
  input: z.strictObject({}),
  output: z.object({ instances: z.array(instance) }),
  peopleOnly: true,
})
