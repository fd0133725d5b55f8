import { z } from 'zod'
import { databasePresetNames } from './fields.ts'
import { operation } from './operation.ts'

/** Capabilities of a region. `databases`: the presets of which at least one version can run there. */
const capabilities = z.object({
  functions: z.boolean(),
  apps: z.boolean(),
  jobs: z.boolean(),
  databases: z.array(z.enum(databasePresetNames)),
  builds: z.boolean(),
  autoscaling: z.boolean(),
  volumes: z.boolean(),
})
export type RegionCapabilities = z.output<typeof capabilities>

/** A part of a region that its configuration asks for, and why it does not work. */
const missing = z.object({
  capability: z.enum(['functions', 'apps', 'builds', 'autoscaling', 'volumes', 'metrics']),
  reason: z.string(),
})
export type MissingCapability = z.output<typeof missing>

/**
 * `node`: where several machines share the installation, the one that runs the region. `available`: its engine works
 * now. `isolation.metadataBlocked`: containers reach neither instance metadata nor services of the region's
 * machine. `missing`: features that its configuration requests and that do not work; absent if all work.
 */
const region = z.object({
  region: z.string(),
  name: z.string(),
  functionDomain: z.string().nullable(),
  engine: z.string(),
  isolation: z.object({ metadataBlocked: z.boolean(), reason: z.string().optional() }),
  node: z.string().optional(),
  available: z.boolean(),
  unavailableReason: z.string().optional(),
  capabilities,
  missing: z.array(missing).optional(),
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
