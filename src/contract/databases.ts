import { z } from 'zod'
import { operation } from './operation.ts'

export const databasePresetNames = [
  'MONGODB',
  'POSTGRESQL',
  'MYSQL',
  'REDIS',
  'COUCHDB',
  'RABBITMQ',
  'CLICKHOUSE',
] as const
export type DatabasePresetName = (typeof databasePresetNames)[number]

export const databaseVersion = z.object({
  key: z.string(),
  label: z.string(),
  image: z.string(),
  variant: z.string().optional(),
})
export type DatabaseVersion = z.output<typeof databaseVersion>

/** contract.md 6. Disk in MB; `available`: the region's engine can run it. */
export const databasePreset = z.object({
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
  summary:
    'Lists the managed databases: version keys, limits, and whether this installation can run them. Read it before create-app.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({ presets: z.array(databasePreset) }),
})
