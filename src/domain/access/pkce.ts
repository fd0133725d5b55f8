import { createHash, timingSafeEqual } from 'node:crypto'

/** RFC 7636, 4.2: the form of an S256 challenge. */
export function isChallenge(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text)
}

/** RFC 7636, 4.6: whether the verifier belongs to the S256 challenge. */
export function verifiesChallenge(verifier: string, challenge: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const made = Buffer.from(createHash('sha256').update(verifier).digest('base64url'))
  const wanted = Buffer.from(challenge)
  return made.length === wanted.length && timingSafeEqual(made, wanted)
}
