import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto'

interface Header {
  nonce: string
  url: string
  /** URL of the account; absent: the public key is sent. */
  kid?: string
}

/** A signed request body (RFC 8555, 6.2). An undefined payload makes a POST-as-GET. */
export function signedBody(payload: unknown, header: Header, key: KeyObject): string {
  const named = header.kid === undefined ? { jwk: publicJwk(key) } : {}
  const head = encode({ alg: 'ES256', ...named, ...header })
  const body = payload === undefined ? '' : encode(payload)
  const signature = sign('sha256', Buffer.from(`${head}.${body}`), { key, dsaEncoding: 'ieee-p1363' })
  return JSON.stringify({ protected: head, payload: body, signature: signature.toString('base64url') })
}

/** The proof of a challenge (RFC 8555, 8.1). */
export function keyAuthorization(token: string, key: KeyObject): string {
  const { crv, kty, x, y } = publicJwk(key)
  const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
  return `${token}.${thumbprint}`
}

function publicJwk(key: KeyObject) {
  const { crv, kty, x, y } = createPublicKey(key).export({ format: 'jwk' })
  return { crv, kty, x, y }
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
