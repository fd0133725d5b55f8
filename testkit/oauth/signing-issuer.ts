import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

/** An issuer whose tokens tests sign themselves, to make every kind of wrong one. */
export class SigningIssuer {
  /** Key ids to keys; the published ones are those of `published`. */
  readonly #keys = new Map<string, { privateKey: CryptoKey; publicKey: CryptoKey }>()
  published: string[] = []
  /** Answers 503 to everything. */
  isAway = false
  /** A response to send in place of its keys. */
  insteadOfKeys: { status: number; body: string } | null = null
  reads = 0

  private constructor(
    readonly issuer: string,
    readonly close: () => Promise<void>,
  ) {}

  static async start(): Promise<SigningIssuer> {
    let made: SigningIssuer | undefined
    const server = createServer(async ({ url }, res) => {
      const other = url === '/keys' ? made!.insteadOfKeys : null
      if (other !== null) return void res.writeHead(other.status).end(other.body)
      const answer = made!.isAway ? null : await made!.#answer(url ?? '')
      res.writeHead(made!.isAway ? 503 : answer === null ? 404 : 200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(answer))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    made = new SigningIssuer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    })
    await made.newKey('first')
    return made
  }

  /** Publishes a new key in place of all others, or beside them. */
  async newKey(kid: string, { beside = false } = {}): Promise<void> {
    this.#keys.set(kid, await generateKeyPair('ES256', { extractable: true }))
    this.published = beside ? [...this.published, kid] : [kid]
  }

  /** A token for `resource`; claims that are undefined are left out. */
  sign(
    resource: string,
    claims: JWTPayload = {},
    { kid = 'first', typ = 'at+jwt', namesKey = true } = {},
  ): Promise<string> {
    const nowSeconds = Math.floor(Date.now() / 1000)
    const all = { iss: this.issuer, aud: resource, sub: 'subject', client_id: 'a-client', iat: nowSeconds }
    const payload = { ...all, exp: nowSeconds + 600, email_verified: true, ...claims }
    const { privateKey } = this.#keys.get(kid)!
    const header = { alg: 'ES256', typ, ...(namesKey && { kid }) }
    return new SignJWT(payload).setProtectedHeader(header).sign(privateKey)
  }

  async publicKey(kid = 'first') {
    return exportJWK(this.#keys.get(kid)!.publicKey)
  }

  async #answer(path: string): Promise<unknown> {
    this.reads += 1
    // Only the document of OpenID Connect, which many servers have alone.
    if (path === '/.well-known/openid-configuration') {
      return { issuer: this.issuer, jwks_uri: `${this.issuer}/keys` }
    }
    if (path !== '/keys') return null
    const keys = this.published.map(async (kid) => ({
      ...(await this.publicKey(kid)),
      kid,
      alg: 'ES256',
      use: 'sig',
    }))
    return { keys: await Promise.all(keys) }
  }
}
