import { z } from 'zod'
import { operation } from './operation.ts'

/** Account settings and their defaults (contract.md 4). */
export const accountSettings = z.object({
  memberEnvAccessEnabled: z.boolean().default(false),
  allowAutoScaling: z.boolean().default(true),
  functionScaleToZero: z.boolean().default(true),
  functionMinIdleTimeoutSeconds: z.number().default(300),
  functionDefaultIdleTimeoutSeconds: z.number().default(900),
  functionMaxScale: z.number().default(10),
  functionMaxMinScale: z.number().default(3),
  functionDefaultMaxScale: z.number().default(3),
  zCloudLimit: z.number().default(64),
})
export type AccountSettings = z.output<typeof accountSettings>

export const account = z.object({
  accountId: z.string(),
  name: z.string(),
  slug: z.string(),
  permissions: z.object({ admin: z.boolean(), manageMembers: z.boolean() }),
  settings: accountSettings,
  revision: z.number(),
})

export const listAccounts = operation({
  id: 'list-accounts',
  method: 'GET',
  path: '/accounts',
  summary: 'Lists the accounts the caller belongs to, with permissions and limits.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({ accounts: z.array(account) }),
})
