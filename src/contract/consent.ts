import { z } from 'zod'
import { isoTime } from './fields.ts'
import { allScopes, type Scope } from './scopes.ts'
import { type ToolGroup, toolGroups } from './tool-groups.ts'

const scope = z.enum(allScopes as [Scope, ...Scope[]])
const pin = z
  .string()
  .regex(/^[\w-]{1,128}$/)
  .nullable()

/** The decision of a person about the request of a client, which the page sends back unchanged as `request`. */
export const consentDecision = z.strictObject({
  request: z.string().max(8_000),
  approve: z.boolean(),
  scopes: z.array(scope).max(allScopes.length).default([]),
  readOnly: z.boolean().default(false),
  groups: z
    .array(z.enum(toolGroups as [ToolGroup, ...ToolGroup[]]))
    .min(1)
    .max(toolGroups.length)
    .nullable()
    .default(null),
  pin: z.strictObject({ account: pin, app: pin, env: pin }).default({ account: null, app: null, env: null }),
  expiresAt: isoTime.nullable().default(null),
})
export type ConsentDecision = z.output<typeof consentDecision>

/** The browser goes to this address of the client. */
export interface ConsentAnswer {
  redirectTo: string
}

interface ConsentClient {
  clientId: string
  /** Chosen by the client. */
  name: string
  /** The host that publishes its identity document; null for a client that registered itself, under any name it likes. */
  verifiedHost: string | null
}

/** What a client asks a person for; an answer instead if the request cannot be granted. */
export type Consent =
  | ConsentAnswer
  | {
      client: ConsentClient
      /** Where the answer goes, in words. */
      returnsTo: string
      email: string
      scopes: Scope[]
      /** The session is read-only, so the agent must be too. */
      readOnly: boolean
      /** When the session's token expires, which the agent's access cannot outlive; null if it does not. */
      expiresAt: string | null
    }
