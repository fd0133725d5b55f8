import { z } from 'zod'
import { databasePresetNames, environmentRef, environmentResponse, expectedRevision } from './fields.ts'
import { operation } from './operation.ts'

const databaseVersion = z.object({
  key: z.string(),
  label: z.string(),
  image: z.string(),
  variant: z.string().optional(),
  available: z.boolean(),
  unavailableReason: z.string().optional(),
})
export type DatabaseVersion = z.output<typeof databaseVersion>

/** Disk in MB. `available`: an engine here can run one of the versions, `defaultVersion` among them. */
const databasePreset = z.object({
  dockerPreset: z.enum(databasePresetNames),
  name: z.string(),
  versions: z.array(databaseVersion),
  defaultVersion: z.string(),
  protocol: z.string(),
  port: z.number(),
  persistence: z.enum(['required', 'optional', 'none']),
  limits: z.object({
    maxReplicas: z.number(),
    minDisk: z.number(),
    maxDisk: z.number(),
    defaultDisk: z.number(),
  }),
  available: z.boolean(),
  unavailableReason: z.string().optional(),
})
export type DatabasePresetRead = z.output<typeof databasePreset>

export const listDatabasePresets = operation({
  id: 'list-database-presets',
  method: 'GET',
  path: '/database-presets',
  summary: 'Lists the managed databases: version keys, limits, and whether each can run here.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({ presets: z.array(databasePreset) }),
})

export const rotateDatabasePassword = operation({
  id: 'rotate-database-password',
  method: 'POST',
  path: '/app-env/database/rotate',
  summary:
    'Gives a PostgreSQL, MySQL or Redis database a new password (admin). Variables that refer to it are pending until they are applied.',
  policy: { on: 'environment', needs: 'admin' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(environmentResponse),
})
