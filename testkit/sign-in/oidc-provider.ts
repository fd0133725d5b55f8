import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'

type Claims = Record<string, unknown>
type Keys = { privateKey: CryptoKey; publicKey: CryptoKey }

/** A small provider of OpenID Connect that really signs, and checks PKCE, the secret and the address as a provider does. */
export class OidcProvider {
  /** Claims of the person who signs in next. */
  person: Claims = {}
  /** Claims that the next ID token has in place of the right ones. */
  wrong: Claims = {}
  signsWithOtherKey = false
  readonly #codes = new Map<string, URLSearchParams>()

  private constructor(
    readonly issuer: string,
    readonly close: () => Promise<void>,
    readonly keys: Keys,
    readonly otherKeys: Keys,
  ) {}

  static async start(): Promise<OidcProvider> {
    let made: OidcProvider | undefined
    const server = createServer(async (request, response) => {
      const answer = await made!.#answer(request).catch(() => null)
      response.writeHead(answer === null ? 400 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer ?? { error: 'invalid_grant' }))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const close = async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    made = new OidcProvider(issuer, close, await generateKeyPair('ES256'), await generateKeyPair('ES256'))
    return made
  }

  /** The person agrees: the address to which the provider sends the browser. */
  authorize(location: string): URL {
    const { searchParams } = new URL(location)
    const code = randomUUID()
    this.#codes.set(code, searchParams)
    const back = new URL(searchParams.get('redirect_uri')!)
    const answer = { code, state: searchParams.get('state')!, iss: this.issuer }
    for (const [name, value] of Object.entries(answer)) back.searchParams.set(name, value)
    return back
  }

  async #answer(request: IncomingMessage): Promise<unknown> {
    const { issuer } = this
    if (request.url === '/.well-known/openid-configuration') {
      return {
        ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
        ...{
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
        },
        id_token_signing_alg_values_supported: ['ES256'],
        authorization_response_iss_parameter_supported: true,
      }
    }
    if (request.url === '/keys') {
      return { keys: [{ ...(await exportJWK(this.keys.publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }] }
    }
    if (request.url !== '/token') return null
    return this.#token(new URLSearchParams(await textOf(request)))
  }

  async #token(form: URLSearchParams): Promise<unknown> {
    const request = this.#codes.get(form.get('code')!)
    this.#codes.delete(form.get('code')!)
    const verifier = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const isGood =
      request !== undefined &&
      request.get('code_challenge') === verifier &&
      request.get('redirect_uri') === form.get('redirect_uri') &&
      form.get('client_id') === 'longshore' &&
      form.get('client_secret') === 'shh'
    if (!isGood) return null
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: this.issuer,
      aud: 'longshore',
      nonce: request.get('nonce'),
      iat: now,
      exp: now + 300,
    }
    const { privateKey } = this.signsWithOtherKey ? this.otherKeys : this.keys
    const idToken = await new SignJWT({ ...claims, ...this.person, ...this.wrong })
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey)
    return { access_token: 'x', token_type: 'bearer', expires_in: 300, id_token: idToken }
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}
