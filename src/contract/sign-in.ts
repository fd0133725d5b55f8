import { z } from 'zod'
import { id, isoTime, line, message } from './fields.ts'
import { operation } from './operation.ts'

/** How a person opens a session of the console. `link`: made by `longshore console`; `email`: mailed. */
const signInMethods = ['token', 'link', 'email', 'passkey', 'oidc'] as const
export type SignInMethod = (typeof signInMethods)[number]

/** What a group of a provider can give. */
export const groupPermissions = ['admin', 'manageMembers', 'member'] as const
export type GroupPermission = (typeof groupPermissions)[number]

/** The ways to sign in at this installation (GET /console/sign-in-methods). */
export interface SignInMethods {
  email: boolean
  passkey: boolean
  /** Name of the provider, as people know it; null: off. */
  oidc: string | null
}

export const listUserSessions = operation({
  id: 'list-user-sessions',
  method: 'GET',
  path: '/user/sessions',
  summary: 'Lists the browsers in which the caller is signed in.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({
    sessions: z.array(
      z.object({
        sessionId: z.string(),
        current: z.boolean(),
        method: z.enum(signInMethods).nullable(),
        tokenId: z.string().describe('The token that it acts with, and ends with'),
        createdAt: isoTime,
        lastUsedAt: isoTime,
        expiresAt: isoTime,
        provedAt: isoTime.nullable().describe('When the person last showed who they are'),
        userAgent: z.string().nullable(),
        clientAddress: z.string().nullable(),
      }),
    ),
  }),
  peopleOnly: true,
})

export const endUserSessions = operation({
  id: 'end-user-sessions',
  method: 'DELETE',
  path: '/user/sessions',
  summary: 'Signs the caller out: of one session, or of all of them with the open sign-in links.',
  policy: { on: 'installation' },
  input: z.strictObject({ sessionId: id.optional().describe('Only this one') }),
  output: z.object({ ...message, ended: z.number().int() }),
  peopleOnly: true,
})

/** Bytes as base64url, as browsers give them. */
const bytes = (most: number) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/, 'must be base64url')
    .max(most)

/** The answer of an authenticator to a sign-in. `challenge` is that of POST /console/passkey-challenge. */
export const passkeyAnswer = z.strictObject({
  challenge: z.string().max(2_000),
  id: bytes(1_400),
  clientDataJSON: bytes(8_000),
  authenticatorData: bytes(8_000),
  signature: bytes(4_000),
  userHandle: bytes(100).nullable(),
})
export type PasskeyAnswer = z.output<typeof passkeyAnswer>

export const listUserPasskeys = operation({
  id: 'list-user-passkeys',
  method: 'GET',
  path: '/user/passkeys',
  summary: 'Lists the passkeys of the caller. Each works for the host in rpId only.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({
    passkeys: z.array(
      z.object({
        passkeyId: z.string(),
        name: z.string(),
        rpId: z.string(),
        backedUp: z.boolean(),
        createdAt: isoTime,
        lastUsedAt: isoTime.nullable(),
      }),
    ),
  }),
  peopleOnly: true,
})

export const createUserPasskey = operation({
  id: 'create-user-passkey',
  method: 'POST',
  path: '/user/passkey',
  summary: 'Adds a passkey of the caller: the answer of an authenticator to a challenge of the console.',
  policy: { on: 'installation' },
  input: z.strictObject({
    name: line(100).describe('What holds it, such as the device'),
    credential: z.strictObject({
      challenge: z.string().max(2_000).describe('As POST /console/passkey-challenge gave it'),
      id: bytes(1_400),
      clientDataJSON: bytes(8_000),
      attestationObject: bytes(64_000),
      transports: z.array(z.string().max(20)).max(10).default([]),
    }),
  }),
  output: z.object({ ...message, passkeyId: z.string() }),
  peopleOnly: true,
  needsSecondStep: true,
})

export const removeUserPasskey = operation({
  id: 'remove-user-passkey',
  method: 'DELETE',
  path: '/user/passkey',
  summary: 'Removes a passkey of the caller; it cannot sign in any more.',
  policy: { on: 'installation' },
  input: z.strictObject({ passkeyId: id }),
  output: z.object(message),
  peopleOnly: true,
  needsSecondStep: true,
})

export const listUsers = operation({
  id: 'list-users',
  method: 'GET',
  path: '/users',
  summary: 'Lists the users of the installation, by address. Operators only.',
  policy: { on: 'installation', operatorOnly: true },
  input: z.strictObject({
    search: z.string().max(200).optional().describe('Only addresses with this text'),
    limit: z.number().int().min(1).max(500).default(100),
    cursor: z.string().max(320).optional(),
  }),
  output: z.object({
    users: z.array(
      z.object({
        userId: z.string(),
        email: z.string(),
        name: z.string(),
        createdAt: isoTime,
        accounts: z.number().int(),
        tokens: z.number().int(),
        sessions: z.number().int(),
        passkeys: z.number().int(),
      }),
    ),
    cursor: z.string().nullable(),
  }),
  peopleOnly: true,
})

export const removeUser = operation({
  id: 'remove-user',
  method: 'DELETE',
  path: '/user',
  summary:
    'Removes a user from the installation: memberships, tokens, sessions, passkeys and identities end. Operators only.',
  policy: { on: 'installation', operatorOnly: true },
  input: z.strictObject({ userId: id }),
  output: z.object(message),
  peopleOnly: true,
  needsSecondStep: true,
})
