import { z } from 'zod'
import { allScopes, type Scope } from './scopes.ts'
import { type ToolGroup, toolGroups } from './tool-groups.ts'

const scope = z.enum(allScopes as [Scope, ...Scope[]])
const idOf = (prefix: string) => z.string().regex(new RegExp(`^${prefix}_[\\w-]{1,128}$`))
/** The limits of the agent. `env`: one environment, which its calls need not name; `environments`: several. */
const grantedScope = z.strictObject({
  account: idOf('acc').nullable().default(null),
  app: idOf('app').nullable().default(null),
  env: idOf('env').nullable().default(null),
  environments: z.array(idOf('env')).min(1).max(200).nullable().default(null),
})

/** The decision of a person about the request of a client, which the page sends back unchanged as `request`. */
export const consentDecision = z.strictObject({
  request: z.string().max(8_000),
  /** Whom the page named: another person may have signed in since, in another tab. */
  email: z.string().max(320).optional(),
  approve: z.boolean(),
  scopes: z.array(scope).max(allScopes.length).default([]),
  readOnly: z.boolean().default(false),
  groups: z
    .array(z.enum(toolGroups as [ToolGroup, ...ToolGroup[]]))
    .min(1)
    .max(toolGroups.length)
    .nullable()
    .default(null),
  pin: grantedScope.prefault({}),
  expiresAt: z.iso.datetime({ offset: true }).nullable().default(null),
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

/** A client's request to a person. If it cannot be granted, only the address that the answer would go to. */
export type Consent =
  | (ConsentAnswer & { returnsTo: string })
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
