/** Names of this installation in OAuth. */
export interface OAuthAddresses {
  /** Address of the authorization server in this program. */
  issuer: string
  /** The resource that tokens are valid for: the MCP endpoint. */
  resource: string
  /** Where a client finds the metadata of `resource` (RFC 9728). */
  resourceMetadata: string
}

const mcpPath = '/mcp'
export const resourceMetadataPath = '/.well-known/oauth-protected-resource/mcp'
export const serverMetadataPath = '/.well-known/oauth-authorization-server'

/**
 * The names for a request. Without a public address the server is bound to loopback (config.ts requires it), and a
 * client compares with the name that it used: `localhost` or `127.0.0.1`.
 */
export type AddressesOf = (host: string | undefined) => OAuthAddresses

export function addressesOf(publicUrl: string | undefined, apiUrl: () => string): AddressesOf {
  return (host) => {
    const issuer = publicUrl ?? (host === undefined ? apiUrl() : `http://${host.toLowerCase()}`)
    return {
      issuer,
      resource: issuer + mcpPath,
      resourceMetadata: issuer + resourceMetadataPath,
    }
  }
}

/** Whether the address that a client sent names `resource`; a final slash makes no difference. */
export function namesResource(named: string, resource: string): boolean {
  return URL.canParse(named) && new URL(named).href.replace(/\/$/, '') === new URL(resource).href
}
