import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

const prefix = 'lsx_'

/**
 * What `/mcp` sends to the API of its own process in place of the access token of an agent. The access token is for `/mcp`
 * only, so the API never sees it and does not accept it (docs/decisions/oauth.md). Valid until the process ends.
 */
export class GrantCredentials {
  readonly #key = randomBytes(32)

  /** The same for the same grant, so that a session survives new access tokens. */
  of(tokenId: string): string {
    return `${prefix}${tokenId}.${this.#mac(tokenId)}`
  }

  /** The id of the grant; null for anything that this process did not make. */
  read(credential: string): string | null {
    if (!credential.startsWith(prefix)) return null
    const [tokenId = '', mac = ''] = credential.slice(prefix.length).split('.')
    const [given, made] = [Buffer.from(mac), Buffer.from(this.#mac(tokenId))]
    return given.length === made.length && timingSafeEqual(given, made) ? tokenId : null
  }

  #mac(tokenId: string): string {
    return createHmac('sha256', this.#key).update(tokenId).digest('base64url')
  }
}
