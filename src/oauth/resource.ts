import { type Clock, timestamp } from '../clock.ts'
import { tokenHash } from '../domain/access/tokens.ts'
import type { Db } from '../store/db.ts'
import { findGrant, findOAuthSecret, type StoredGrant } from '../store/repositories/oauth-grants.ts'
import type { AddressesOf } from './addresses.ts'
import type { GrantCredentials } from './grant-credentials.ts'
import type { TokenRecord } from './token-endpoint.ts'

/** Finds the grant of an access token that is for `resource`; null for every other text. */
export type FindGrant = (token: string, resource: string) => Promise<StoredGrant | null>

/** An agent that may use `/mcp`. */
interface AdmittedAgent {
  /** For the API, in place of the access token. */
  token: string
  grant: StoredGrant
}

/** The side of `/mcp`: authenticates callers, and points clients to the authorization server. */
interface OAuthResource {
  /** Null for every text that is no valid access token for this address, such as a token of Longshore. */
  admit(token: string, host: string | undefined): Promise<AdmittedAgent | null>
  /** The value of `WWW-Authenticate` for a request without a valid token, or one that needs more scopes. */
  challenge(host: string | undefined, scope: readonly string[], error?: 'insufficient_scope'): string
}

export function createOAuthResource(deps: {
  addresses: AddressesOf
  credentials: GrantCredentials
  find: FindGrant
}): OAuthResource {
  const { addresses, credentials, find } = deps
  return {
    async admit(token, host) {
      const grant = await find(token, addresses(host).resource)
      return grant && { token: credentials.of(grant), grant }
    },
    challenge(host, scope, error) {
      const parts = [
        ...(error ? [`error="${error}"`] : []),
        `resource_metadata="${addresses(host).resourceMetadata}"`,
        `scope="${scope.join(' ')}"`,
      ]
      return `Bearer ${parts.join(', ')}`
    },
  }
}

/** Access tokens of the embedded authorization server, looked up on every request, so a revoked one ends at once. */
export function embeddedGrants({ db, clock }: { db: Db; clock: Clock }): FindGrant {
  return async (token, resource) => {
    if (!token.startsWith('lsa_')) return null
    const hash = tokenHash(token)
    return db.read(async (tx) => {
      const secret = await findOAuthSecret<TokenRecord>(tx, hash, timestamp(clock.wallMs()))
      const isOurs = secret?.kind === 'access' && secret.record.resource === resource
      return isOurs ? findGrant(tx, secret.tokenId) : null
    })
  }
}
