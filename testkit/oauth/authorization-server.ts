import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import type Provider from 'oidc-provider'

interface TestAccount {
  email: string
  emailVerified: boolean
}

interface Options {
  /** The resource that its tokens are valid for: the address of /mcp, read at each request. */
  resource: () => string
  redirectUri: string
  scopes: string
  /** The person that signs in; read at each sign-in. */
  account: () => TestAccount
}

/** `oidc-provider`, the reference authorization server, with one registered client and a person who always agrees. */
export class TestAuthorizationServer {
  readonly clientId = 'registered-host'
  private constructor(
    readonly issuer: string,
    readonly close: () => Promise<void>,
  ) {}

  static async start(options: Options): Promise<TestAuthorizationServer> {
    let handle: (req: IncomingMessage, res: ServerResponse) => unknown = (_req, res) => res.end()
    const server = createServer((req, res) => handle(req, res))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const made = new TestAuthorizationServer(issuer, async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    const provider = await made.#provider(options)
    const serve = provider.callback()
    handle = (req, res) =>
      req.url?.startsWith('/interaction/') ? agree(provider, req, res, options.account()) : serve(req, res)
    return made
  }

  async #provider({ resource, redirectUri, scopes, account }: Options): Promise<Provider> {
    const { default: OidcProvider } = await import('oidc-provider')
    const { privateKey } = await generateKeyPair('RS256', { extractable: true })
    const key = { ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'first' }
    const resourceServer = () => ({ scope: scopes, audience: resource(), accessTokenFormat: 'jwt' })
    return new OidcProvider(this.issuer, {
      clients: [
        {
          client_id: this.clientId,
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: 'none',
          application_type: 'native',
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      jwks: { keys: [key] },
      cookies: { keys: ['test'] },
      scopes: ['openid', 'offline_access'],
      interactions: { url: (_: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
      findAccount: (_: unknown, id: string) => ({ accountId: id, claims: async () => ({ sub: id }) }),
      extraTokenClaims: () => ({ email: account().email, email_verified: account().emailVerified }),
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: resource,
          useGrantedResource: () => true,
          getResourceServerInfo: resourceServer,
        },
      },
    })
  }
}

/** Signs in and grants the requested scopes. */
async function agree(provider: Provider, req: IncomingMessage, res: ServerResponse, { email }: TestAccount) {
  const { params, prompt, session } = await provider.interactionDetails(req, res)
  if (prompt.name === 'login') {
    return provider.interactionFinished(req, res, { login: { accountId: `subject of ${email}` } })
  }
  const grant = new provider.Grant({ accountId: session!.accountId, clientId: String(params.client_id) })
  grant.addResourceScope(String(params.resource), String(params.scope))
  return provider.interactionFinished(req, res, { consent: { grantId: await grant.save() } })
}

/** Follows redirects with cookies, as a browser does, until the address is `end`. */
export async function browse(start: URL, end: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = start
  for (let hops = 0; !url.href.startsWith(end); hops += 1) {
    if (hops === 20) throw new Error(`a loop of redirects at ${url.href}`)
    const headers = { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
    const answer = await fetch(url, { headers, redirect: 'manual' })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = line.split(';', 1)[0]!.split('=')
      cookies.set(name, value)
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`${url.pathname}: ${answer.status} ${await answer.text()}`)
    url = new URL(location, url)
  }
  return url
}
