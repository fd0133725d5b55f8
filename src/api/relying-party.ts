import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import type { RelyingParty } from '../operations/access/passkey-challenges.ts'
import { isHttps } from './console-credential.ts'

/**
 * The site of a page for passkeys; null where they cannot work. Browsers want a name and a protected address, and passkeys made
 * under the public address work at no other.
 */
export function relyingPartyOf(
  headers: IncomingHttpHeaders,
  publicUrl: string | undefined,
): RelyingParty | null {
  const address = `${isHttps(headers) ? 'https' : 'http'}://${headers.host ?? ''}`
  if (!URL.canParse(address)) return null
  const { origin, hostname, protocol } = new URL(address)
  if (publicUrl !== undefined && new URL(publicUrl).origin !== origin) return null
  const isProtected = protocol === 'https:' || hostname === 'localhost'
  if (!isProtected || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0) return null
  return { rpId: hostname, origin }
}
