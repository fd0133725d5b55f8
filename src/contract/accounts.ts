import { z } from 'zod'
import { accountId, expectedRevision, line } from './fields.ts'
import { operation } from './operation.ts'

/** Account settings and their defaults (docs/interface.md#account-settings). */
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
  agentsPaused: z.boolean().default(false),
  reauthenticateSeconds: z.number().default(0),
})
export type AccountSettings = z.output<typeof accountSettings>

const account = z.object({
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

export const createAccount = operation({
  id: 'create-account',
  method: 'POST',
  path: '/account',
  summary: 'Creates an account; the caller is its admin.',
  policy: { on: 'installation' },
  input: z.strictObject({ name: line(100) }),
  output: z.object({ accountId: z.string() }),
  peopleOnly: true,
})

const whole = (least: number, most: number) => z.number().int().min(least).max(most).optional()

/** Settings that an admin may change, within the bounds of the platform (docs/interface.md#account-settings). */
const settingFields = {
  memberEnvAccessEnabled: z.boolean().optional().describe('Per-environment member access (M5)'),
  allowAutoScaling: z.boolean().optional(),
  functionScaleToZero: z.boolean().optional(),
  functionMinIdleTimeoutSeconds: whole(300, 86_400),
  functionDefaultIdleTimeoutSeconds: whole(300, 86_400),
  functionMaxScale: whole(1, 1000),
  functionMaxMinScale: whole(0, 1000),
  functionDefaultMaxScale: whole(1, 1000),
  zCloudLimit: whole(1, 100_000),
  agentsPaused: z.boolean().optional().describe('Stops every write of callers that are not people'),
  reauthenticateSeconds: whole(0, 86_400).describe('People confirm who they are again after it; 0: off'),
}
export const settingNames = Object.keys(settingFields) as (keyof AccountSettings)[]

export const updateAccount = operation({
  id: 'update-account',
  method: 'PATCH',
  path: '/account',
  summary:
    'Changes the name and settings of an account. Manage Members is enough for memberEnvAccessEnabled alone; the rest needs admin.',
  policy: { on: 'account', needs: 'manageMembers' },
  input: z.strictObject({
    accountId,
    name: line(100).optional(),
    ...settingFields,
    settings: z
      .strictObject(settingFields)
      .optional()
      .describe('The same settings, nested; top-level ones win'),
    expectedRevision,
  }),
  ignored: ['slug', 'permissions', 'revision'],
  output: z.object({ message: z.string(), account }),
  needsSecondStep: true,
})
