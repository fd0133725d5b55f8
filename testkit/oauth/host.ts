import type { OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { type Agent, agentOf } from '../mcp/tools-over-http.ts'

/** The person's part: gets the address that the host opens in the browser, resolves to the address it comes back to. */
type Browser = (authorizationUrl: URL) => Promise<URL>

/** A host that speaks MCP with the official library and signs in with its OAuth. */
export class OAuthHost implements OAuthClientProvider {
  readonly redirectUrl = 'http://127.0.0.1:33418/callback'
  readonly clientMetadata: OAuthClientMetadata = {
    client_name: 'Test host',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  }
  /** Set by tests of clients with an identity document. */
  clientMetadataUrl?: string
  information: OAuthClientInformationMixed | undefined
  held: OAuthTokens | undefined
  verifier = ''
  /** Addresses that were opened in the browser. */
  readonly opened: URL[] = []

  constructor(
    readonly mcpUrl: string,
    readonly browser: Browser,
  ) {}

  clientInformation() {
    return this.information
  }
  saveClientInformation(information: OAuthClientInformationMixed) {
    this.information = information
  }
  tokens() {
    return this.held
  }
  saveTokens(tokens: OAuthTokens) {
    this.held = tokens
  }
  redirectToAuthorization(url: URL) {
    this.opened.push(url)
  }
  saveCodeVerifier(verifier: string) {
    this.verifier = verifier
  }
  codeVerifier() {
    return this.verifier
  }
  state() {
    return 'state-of-the-host'
  }
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (scope === 'all' || scope === 'tokens') this.held = undefined
    if (scope === 'all' || scope === 'client') this.information = undefined
  }

  /** Connects; signs in first if the server asks for it. */
  async connect(): Promise<Agent> {
    const first = this.#transport()
    const client = this.#client()
    try {
      await client.connect(first as never)
      return agentOf(client)
    } catch (error) {
      if (!(error instanceof UnauthorizedError)) throw error
    }
    await this.finish(first)
    const again = this.#client()
    await again.connect(this.#transport() as never)
    return agentOf(again)
  }

  /** The person decides about the last opened address; the host takes the answer. */
  async finish(transport = this.#transport()): Promise<URL> {
    const back = await this.browser(this.opened.at(-1)!)
    await transport.finishAuth(back.searchParams.get('code') ?? '')
    return back
  }

  #client(): Client {
    return new Client({ name: 'test-host', version: '1' })
  }

  #transport(): StreamableHTTPClientTransport {
    return new StreamableHTTPClientTransport(new URL(this.mcpUrl), { authProvider: this })
  }
}
