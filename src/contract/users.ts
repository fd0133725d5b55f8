import { z } from 'zod'
import { environmentRef, expectedRevision, id, isoTime, line, message } from './fields.ts'
import { operation } from './operation.ts'

export const getUser = operation({
  id: 'get-user',
  method: 'GET',
  path: '/user',
  summary: 'Reads the user this token belongs to.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({
    userId: z.string(),
    email: z.string(),
    name: z.string(),
    operator: z.boolean().describe("Whether the user is an admin of the installation's first account"),
  }),
  peopleOnly: true,
})

export const rotateUserToken = operation({
  id: 'rotate-user-token',
  method: 'POST',
  path: '/user/token',
  summary:
    'Replaces the token of this call with a new one, shown once. The old token stops working immediately.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({ token: z.string() }),
  answersSecret: true,
  peopleOnly: true,
})

export const createUserToken = operation({
  id: 'create-user-token',
  method: 'POST',
  path: '/user/tokens',
  summary: 'Creates another token of the caller, shown once. It can be read-only, and it can expire.',
  policy: { on: 'installation' },
  input: z.strictObject({
    name: line(100).describe('What it is for'),
    readOnly: z.boolean().default(false),
    expiresAt: z.iso
      .datetime({
        offset: true,
        error: 'must be an ISO 8601 time with a time zone, such as 2030-01-31T18:00:00Z',
      })
      .optional()
      .describe('When it expires; without it, never'),
  }),
  output: z.object({ tokenId: z.string(), token: z.string(), expiresAt: isoTime.nullable() }),
  answersSecret: true,
  peopleOnly: true,
})

/** The access that a person gave an agent (docs/interface.md#oauth). */
const agentAccess = z.object({
  clientId: z.string(),
  /** Host of the client's identity document, or where the sign-in ended. */
  host: z.string(),
  scopes: z.array(z.string()),
  readOnly: z.boolean(),
  groups: z.array(z.string()).nullable(),
  pin: z.object({
    account: z.string().nullable(),
    app: z.string().nullable(),
    env: z.string().nullable(),
    environments: z.array(z.string()).nullable().describe('Several environments; env names one'),
  }),
})

export const listUserTokens = operation({
  id: 'list-user-tokens',
  method: 'GET',
  path: '/user/tokens',
  summary:
    'Lists the tokens of the caller and the agents that signed in for them, when they expire and when they were last used, without their values.',
  policy: { on: 'installation' },
  input: z.strictObject({}),
  output: z.object({
    tokens: z.array(
      z.object({
        tokenId: z.string(),
        name: z.string(),
        readOnly: z.boolean(),
        current: z.boolean(),
        createdAt: isoTime,
        expiresAt: isoTime.nullable(),
        expired: z.boolean(),
        lastUsedAt: isoTime.nullable(),
        agent: agentAccess.nullable().describe('Set for an agent that signed in with OAuth'),
      }),
    ),
  }),
  peopleOnly: true,
})

export const revokeUserToken = operation({
  id: 'revoke-user-token',
  method: 'DELETE',
  path: '/user/token',
  summary: 'Revokes a token of the caller, or the access of an agent, effective from its next request.',
  policy: { on: 'installation' },
  input: z.strictObject({ tokenId: id }),
  output: z.object(message),
  peopleOnly: true,
})

export const rotateAppEnvToken = operation({
  id: 'rotate-app-env-token',
  method: 'POST',
  path: '/app-env/token',
  summary: 'Creates a new token for an environment and shows it once. Older tokens stop working immediately.',
  policy: { on: 'environment', needs: 'admin' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object({ token: z.string() }),
  answersSecret: true,
  peopleOnly: true,
})
