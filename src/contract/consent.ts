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
  /** The limits. What is left out stays as in the grant that is replaced; without one, it limits nothing. */
  readOnly: z.boolean().optional(),
  groups: z
    .array(z.enum(toolGroups as [ToolGroup, ...ToolGroup[]]))
    .min(1)
    .max(toolGroups.length)
    .nullable()
    .optional(),
  pin: grantedScope.optional(),
  expiresAt: z.iso.datetime({ offset: true }).nullable().optional(),
  /** The grant that the page showed as the one to be replaced; null: none. */
  replaces: idOf('tok').nullable().optional(),
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

/** The access that the same person gave the same client before. The page starts from it and shows the difference. */
export interface EarlierGrant
  extends Required<Pick<ConsentDecision, 'readOnly' | 'groups' | 'pin' | 'expiresAt'>> {
  tokenId: string
  scopes: Scope[]
  /** Scopes that the person left out. */
  declined: Scope[]
  /** A step-up: the new access takes its place. */
  isReplaced: boolean
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
      earlier: EarlierGrant | null
    }
