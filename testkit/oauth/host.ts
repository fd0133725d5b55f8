import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client'
import { UnauthorizedError as FirstUnauthorized } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as FirstClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as FirstTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthClientMetadata,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { type Agent, agentOf } from '../mcp/tools-over-http.ts'

/** The official clients: the line that most hosts use, and its successor. */
const libraries = {
  first: { Client: FirstClient, Transport: FirstTransport, Unauthorized: FirstUnauthorized },
  second: { Client, Transport: StreamableHTTPClientTransport, Unauthorized: UnauthorizedError },
} as const

/** The person's part: gets the address that the host opens in the browser, resolves to the address it comes back to. */
type Browser = (authorizationUrl: URL) => Promise<URL>

/** A host that speaks MCP with the official library and signs in with its OAuth. */
export class OAuthHost {
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
  #discovery: unknown

  constructor(
    readonly mcpUrl: string,
    readonly browser: Browser,
    readonly library: keyof typeof libraries = 'first',
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
  discoveryState() {
    return this.#discovery
  }
  saveDiscoveryState(state: unknown) {
    this.#discovery = state
  }
  state() {
    return 'state-of-the-host'
  }
  invalidateCredentials(scope: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (scope === 'all' || scope === 'tokens') this.held = undefined
    if (scope === 'all' || scope === 'client') this.information = undefined
  }

  /** Connects; signs in first if the server requires it. */
  async connect(): Promise<Agent> {
    const { Unauthorized } = libraries[this.library]
    const first = this.#transport()
    const client = this.#client()
    try {
      await client.connect(first as never)
      return agentOf(client as never)
    } catch (error) {
      if (!(error instanceof Unauthorized)) throw error
    }
    await this.finish(first)
    const again = this.#client()
    await again.connect(this.#transport() as never)
    return agentOf(again as never)
  }

  /** The person decides about the address that was opened last; the host takes the answer. */
  async finish(transport = this.#transport()): Promise<URL> {
    const back = await this.browser(this.opened.at(-1)!)
    const { searchParams: answer } = back
    await transport.finishAuth(answer.get('code') ?? '', answer.get('iss') ?? undefined)
    return back
  }

  #client() {
    return new libraries[this.library].Client({ name: 'test-host', version: '1' })
  }

  #transport() {
    const { Transport } = libraries[this.library]
    const options = { authProvider: this as never }
    return new Transport(new URL(this.mcpUrl), options) as StreamableHTTPClientTransport
  }
}
