import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { grantText, type PresentedGrant } from '../operations/core/caller.ts'

const prefix = 'lsx_'

/**
 * Credentials that `/mcp` sends to the API of its own process in place of the access token of an agent. The access token
 * is for `/mcp` only: the API never sees it and does not accept it (docs/decisions/oauth.md). Valid until the process ends.
 */
export class GrantCredentials {
  readonly #key = randomBytes(32)

  /** The same for the same grant and scopes, so that a session survives new access tokens. */
  of(grant: PresentedGrant): string {
    const text = grantText(grant)
    return `${prefix}${text}.${this.#mac(text)}`
  }

  /** The text of the grant, for `callerOf`; null for anything that this process did not make. */
  read(credential: string): string | null {
    if (!credential.startsWith(prefix)) return null
    const end = credential.lastIndexOf('.')
    const text = credential.slice(prefix.length, end)
    const [given, made] = [Buffer.from(credential.slice(end + 1)), Buffer.from(this.#mac(text))]
    return given.length === made.length && timingSafeEqual(given, made) ? text : null
  }

  #mac(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('base64url')
  }
}
