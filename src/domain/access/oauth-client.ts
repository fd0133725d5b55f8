/** A program that asks for access on behalf of a person. All are public clients: PKCE, no client secret. */
export interface OAuthClient {
  /** The address of its identity document, or an id from its registration. */
  clientId: string
  name: string
  redirectUris: readonly string[]
}

/**
 * Schemes of hosts that open an app of the person's machine. Others must have the form of a reversed domain name
 * (RFC 8252, 7.1), so that `javascript:` and the like can never be a redirect address.
 */
const hostSchemes: readonly string[] = [
  'claude',
  'codex',
  'cursor',
  'vscode',
  'vscode-insiders',
  'windsurf',
  'zed',
]

/** Why an address cannot be a redirect address; null if it can. */
export function redirectUriProblem(text: string): string | null {
  if (text.length > 2_000 || !/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return 'is not an address'
  const url = new URL(text)
  if (text.includes('#')) return 'must have no fragment'
  if (url.username !== '' || url.password !== '') return 'must have no user'
  // The browser must go exactly to the address in the text: no backslash, dot segment or tab that a parser rewrites.
  if (text.includes('\\') || /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$|\?)/i.test(text))
    return 'must be in its plain form'
  const scheme = url.protocol.slice(0, -1)
  if (scheme === 'https') return null
  if (scheme === 'http') return loopbackAddress.test(text) ? null : 'must be https, or http on this machine'
  if (scheme.includes('.') || hostSchemes.includes(scheme)) return null
  return 'must be https, http on this machine, or an address of a known app'
}

/**
 * Whether an address is one of the client's: equal character by character. Only the port of a loopback address may
 * differ, because an app takes a free one at each start (RFC 8252, 7.3).
 */
export function isRedirectUriOf(client: OAuthClient, requested: string): boolean {
  if (redirectUriProblem(requested) !== null) return false
  return client.redirectUris.some(
    (registered) =>
      registered === requested ||
      (withoutLoopbackPort(registered) !== null &&
        withoutLoopbackPort(registered) === withoutLoopbackPort(requested)),
  )
}

/** Exactly the three of RFC 8252, 7.3. */
const loopbackAddress = /^(http:\/\/(?:localhost|127\.0\.0\.1|\[::1\]))(?::\d{1,5})?((?:[/?].*)?)$/

/** The text of a loopback address without its port; null for other addresses. */
function withoutLoopbackPort(address: string): string | null {
  const match = loopbackAddress.exec(address)
  return match ? `${match[1]}${match[2]}` : null
}
