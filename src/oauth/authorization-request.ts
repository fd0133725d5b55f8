import { type Scope, scopesIn } from '../contract/scopes.ts'
import { isRedirectUriOf, type OAuthClient } from '../domain/access/oauth-client.ts'
import { isChallenge } from '../domain/access/pkce.ts'
import { namesResource, type OAuthAddresses } from './addresses.ts'
import { OAuthError } from './oauth-error.ts'

/** A validated authorization request of a client. */
export interface AuthorizationRequest {
  client: OAuthClient
  redirectUri: string
  state: string | null
  scopes: Scope[]
  challenge: string
}

/** A client that names no scope can read and deploy; deleting and the rest it must ask for. */
const defaultScopes: readonly Scope[] = ['environments:read', 'environments:write']

/** The address for an answer to the client: known only once client and address have been matched. */
export interface ReturnAddress {
  client: OAuthClient
  redirectUri: string
  state: string | null
}

/**
 * The client and its address. Throws `OAuthError` that only the person sees: sending it to an address that is not the
 * client's would make this server an open redirector.
 */
export async function returnAddressOf(
  query: URLSearchParams,
  findClient: (clientId: string) => Promise<OAuthClient>,
): Promise<ReturnAddress> {
  const client = await findClient(one(query, 'client_id') ?? '')
  const redirectUri = one(query, 'redirect_uri') ?? ''
  if (isRedirectUriOf(client, redirectUri)) {
    return { client, redirectUri, state: query.getAll('state')[0] ?? null }
  }
  throw new OAuthError(
    'invalid_request',
    'The program wants the answer at an address that is not its own. Do not continue unless you trust who sent you here.',
  )
}

/** Checks the rest. Throws `OAuthError` for the client. */
export function readAuthorizationRequest(
  query: URLSearchParams,
  to: ReturnAddress,
  { resource }: OAuthAddresses,
): AuthorizationRequest {
  if (query.has('request') || query.has('request_uri')) {
    throw new OAuthError('request_not_supported', 'Send the parameters themselves, without a request object.')
  }
  if (one(query, 'response_type') !== 'code') {
    throw new OAuthError('unsupported_response_type', 'response_type must be code.')
  }
  if ((one(query, 'response_mode') ?? 'query') !== 'query') {
    throw new OAuthError('invalid_request', 'response_mode must be query.')
  }
  const challenge = one(query, 'code_challenge') ?? ''
  if (one(query, 'code_challenge_method') !== 'S256' || !isChallenge(challenge)) {
    throw new OAuthError(
      'invalid_request',
      'PKCE is required: code_challenge, with code_challenge_method S256.',
    )
  }
  if (!query.getAll('resource').every((named) => namesResource(named, resource))) {
    throw new OAuthError('invalid_target', `This server issues tokens for ${resource} only.`)
  }
  one(query, 'state')
  const named = one(query, 'scope')
  const scopes = named === null ? [...defaultScopes] : scopesIn(named)
  if (scopes.length === 0) {
    throw new OAuthError('invalid_scope', 'None of these scopes exists; scopes_supported lists them.')
  }
  return { ...to, scopes, challenge }
}

/** Null if it is absent. Throws for a parameter that is sent twice: programs disagree about which one counts. */
function one(query: URLSearchParams, name: string): string | null {
  const [value = null, ...more] = query.getAll(name)
  if (more.length === 0 && (value ?? '').length <= 2_000) return value
  throw new OAuthError('invalid_request', `${name} must be sent once, with at most 2000 characters.`)
}

/** The client's address with an answer; `iss` lets it detect an answer of another server (RFC 9207). */
export function answerAddress(
  { redirectUri, state }: ReturnAddress,
  issuer: string,
  answer: Record<string, string>,
): string {
  const url = new URL(redirectUri)
  for (const [name, value] of Object.entries(answer)) url.searchParams.append(name, value)
  if (state !== null) url.searchParams.append('state', state)
  url.searchParams.append('iss', issuer)
  return url.href
}
