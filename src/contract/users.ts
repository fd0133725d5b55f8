import { z } from 'zod'
import { environmentRef, expectedRevision, id, isoTime, line, message } from './fields.ts'
import { operation } from './operation.ts'
import { allScopes, type Scope } from './scopes.ts'
import { type ToolGroup, toolGroups } from './tool-groups.ts'

/** The limits of a token, the same as those of the consent page; each of them only narrows. */
const tokenLimits = {
  kind: z.enum(['person', 'agent']).default('person').describe('Who uses it'),
  label: line(100).optional().describe('Name of the agent, for policies and the audit log'),
  scopes: z
    .array(z.enum(allScopes as [Scope, ...Scope[]]))
    .min(1)
    .max(allScopes.length)
    .optional()
    .describe('Only calls with these scopes'),
  accountId: id.optional().describe('Only this account'),
  appId: id.optional().describe('Only this app'),
  appEnvIds: z.array(id).min(1).max(200).optional().describe('Only these environments'),
  toolGroups: z
    .array(z.enum(toolGroups as [ToolGroup, ...ToolGroup[]]))
    .min(1)
    .max(toolGroups.length)
    .optional()
    .describe('Only writes of these groups of tools'),
  mayPropose: z
    .boolean()
    .optional()
    .describe('May dry-run and propose writes beyond its limits; by default for agents'),
}

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
  needsSecondStep: true,
})

export const createUserToken = operation({
  id: 'create-user-token',
  method: 'POST',
  path: '/user/tokens',
  summary:
    'Creates another token of the caller, shown once: for a person or an agent, with limits, and with an end.',
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
    ...tokenLimits,
  }),
  output: z.object({ tokenId: z.string(), token: z.string(), expiresAt: isoTime.nullable() }),
  answersSecret: true,
  peopleOnly: true,
  needsSecondStep: true,
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
        kind: z.enum(['person', 'agent']),
        label: z.string().nullable(),
        scopes: z.array(z.string()).nullable(),
        accountId: z.string().nullable(),
        appId: z.string().nullable(),
        appEnvIds: z.array(z.string()).nullable(),
        toolGroups: z.array(z.string()).nullable(),
        mayPropose: z.boolean(),
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
  needsSecondStep: true,
})
