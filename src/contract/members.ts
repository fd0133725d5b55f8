import { z } from 'zod'
import { normalEmail } from './email-address.ts'
import { accountId, expectedRevision, id, line, message, revision } from './fields.ts'
import { operation } from './operation.ts'

const membershipId = id.describe('See list-members')
const allowedAppEnvIds = z.array(id).max(10_000)
const accesses = ['full', 'restricted'] as const

const member = z.object({
  membershipId: z.string(),
  email: z.string(),
  name: z.string(),
  admin: z.boolean(),
  manageMembers: z.boolean(),
  access: z.enum(accesses),
  allowedAppEnvIds: z.array(z.string()),
  /** The invitation is pending; the user cannot see the account yet. */
  invited: z.boolean(),
  revision,
})

export const listMembers = operation({
  id: 'list-members',
  method: 'GET',
  path: '/members',
  summary: 'Lists the members of an account with permissions and environment access. Needs Manage Members.',
  policy: { on: 'account', needs: 'manageMembers' },
  input: z.strictObject({
    accountId,
    withAppEnvs: z.boolean().default(false).describe('Include every environment (M6)'),
  }),
  output: z.object({
    members: z.array(member),
    appEnvs: z
      .array(z.object({ appEnvId: z.string(), appId: z.string(), name: z.string(), cliEnvName: z.string() }))
      .optional(),
  }),
})

export const addMember = operation({
  id: 'add-member',
  method: 'POST',
  path: '/member',
  summary:
    'Adds a member. A new user gets a token, shown once or sent by e-mail; an existing user gets an invitation.',
  policy: { on: 'account', needs: 'manageMembers' },
  input: z.strictObject({
    accountId,
    email: z
      .string()
      .overwrite(normalEmail)
      .max(254)
      .regex(/^[^\s@<>"'(),:;[\]\\]{1,64}@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/, 'must be an e-mail address')
      // Invisible characters would make two addresses look the same; a capital is what a look-alike composed to.
      .refine(
        (email) => !/[A-Z\p{C}\p{Default_Ignorable_Code_Point}]/u.test(email),
        'must be an e-mail address',
      ),
    name: line(100),
    admin: z.boolean().default(false),
    manageMembers: z.boolean().default(false),
    allowedAppEnvIds: allowedAppEnvIds.optional().describe('Empty or omitted: full access'),
  }),
  output: z.object({
    membershipId: z.string(),
    /** Null for a new user, who becomes a member immediately. */
    invitationId: z.string().nullable(),
    /** Null for an existing user, and when the token is sent by e-mail. */
    token: z.string().nullable(),
    tokenEmailed: z.boolean(),
    ...message,
  }),
  answersSecret: true,
  peopleOnly: true,
  needsSecondStep: true,
})

export const removeMember = operation({
  id: 'remove-member',
  method: 'DELETE',
  path: '/member',
  summary: 'Removes a membership; the user, their tokens and everything they created stay.',
  policy: { on: 'member', needs: 'manageMembers' },
  input: z.strictObject({ accountId, membershipId, expectedRevision }),
  output: z.object(message),
  peopleOnly: true,
  needsSecondStep: true,
})

const memberEnvAccess = z.object({
  accountId: z.string(),
  membershipId: z.string(),
  enabled: z.boolean(),
  access: z.enum(accesses),
  allowedAppEnvIds: z.array(z.string()),
  revision,
})

export const getMemberEnvAccess = operation({
  id: 'get-member-env-access',
  method: 'GET',
  path: '/member/env-access',
  summary: 'Reads which environments a member may access. Needs Manage Members.',
  policy: { on: 'member', needs: 'manageMembers' },
  input: z.strictObject({ accountId, membershipId }),
  output: memberEnvAccess,
})

export const updateMemberEnvAccess = operation({
  id: 'update-member-env-access',
  method: 'PATCH',
  path: '/member/env-access',
  summary: 'Sets which environments a member may access; an empty or missing list grants FULL access.',
  policy: { on: 'member', needs: 'manageMembers' },
  input: z.strictObject({
    accountId,
    membershipId,
    allowedAppEnvIds: allowedAppEnvIds.optional(),
    expectedRevision,
  }),
  ignored: ['enabled', 'access', 'message', 'revision'],
  output: memberEnvAccess.extend({ message: z.string() }),
  needsSecondStep: true,
})
