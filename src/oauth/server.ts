import { type Clock, timestamp } from '../clock.ts'
import { allScopes } from '../contract/scopes.ts'
import type { Db } from '../store/db.ts'
import { forgetOAuthClientsBefore } from '../store/repositories/oauth-clients.ts'
import { forgetOAuthSecretsBefore } from '../store/repositories/oauth-grants.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import type { AddressesOf, OAuthAddresses } from './addresses.ts'
import { createOAuthClients, type FetchDocument, type OAuthClients } from './clients.ts'
import { ConsentService } from './consent.ts'
import { TokenEndpoint } from './token-endpoint.ts'

const dayMs = 24 * 60 * 60_000

/** The OAuth routes that the API serves. */
export interface OAuthRoutes {
  addresses: AddressesOf
  /** The authorization server that clients are sent to, by issuer. */
  issuerOf(addresses: OAuthAddresses): string
  /** The embedded authorization server; null with an external one. */
  server: EmbeddedServer | null
}

export interface EmbeddedServer {
  clients: OAuthClients
  consent: ConsentService
  tokens: TokenEndpoint
}

export function createEmbeddedServer(deps: {
  db: Db
  clock: Clock
  secrets: SecretBox
  fetchDocument: FetchDocument
}): EmbeddedServer {
  const clients = createOAuthClients(deps)
  return { clients, consent: new ConsentService({ ...deps, clients }), tokens: new TokenEndpoint(deps) }
}

/** Deletes expired codes and tokens, and clients that are not used. */
export async function forgetExpiredOAuth(db: Db, clock: Clock): Promise<void> {
  const at = (offsetMs: number) => timestamp(clock.wallMs() + offsetMs)
  await db.write(async (tx) => {
    await forgetOAuthSecretsBefore(tx, at(0))
    await forgetOAuthClientsBefore(tx, { unusedSince: at(-dayMs), usedBefore: at(-90 * dayMs) })
  })
}

export const oauthPaths = {
  /** Brings the browser to the page `consent`. */
  authorize: '/oauth/authorize',
  consent: '/console/authorize',
  token: '/oauth/token',
  register: '/oauth/register',
  revoke: '/oauth/revoke',
} as const

/** Metadata of the MCP endpoint (RFC 9728). */
export function resourceMetadata(routes: OAuthRoutes, addresses: OAuthAddresses) {
  return {
    resource: addresses.resource,
    resource_name: 'Longshore',
    authorization_servers: [routes.issuerOf(addresses)],
    scopes_supported: allScopes,
    bearer_methods_supported: ['header'],
  }
}

/** Metadata of the embedded authorization server (RFC 8414). */
export function serverMetadata({ issuer }: OAuthAddresses) {
  return {
    issuer,
    authorization_endpoint: issuer + oauthPaths.authorize,
    token_endpoint: issuer + oauthPaths.token,
    registration_endpoint: issuer + oauthPaths.register,
    revocation_endpoint: issuer + oauthPaths.revoke,
    scopes_supported: allScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  }
}
