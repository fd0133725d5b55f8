import { createHash, randomBytes } from 'node:crypto'
import type { AuthenticatorTransport } from '@simplewebauthn/server'
import { timestamp } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { type Passkey, spendChallenge } from '../../store/repositories/passkeys.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'

/** The site that passkeys belong to: the host, and the origin at which pages ask for them. */
export interface RelyingParty {
  rpId: string
  origin: string
}

/** What a challenge is bound to. The client keeps it sealed, so that strangers fill no table with challenges. */
export interface Challenge extends RelyingParty {
  purpose: 'sign-in' | 'registration'
  /** Base64url, as it is signed. */
  challenge: string
  /** Who registers; null for a sign-in, where the passkey names the user. */
  userId: string | null
  expiresAt: string
}

const challengeLifeMs = 5 * 60_000
const boundTo = 'challenge of a passkey'

export function newChallenge(
  { secrets, nowMs }: { secrets: SecretBox; nowMs: number },
  facts: RelyingParty & Pick<Challenge, 'purpose' | 'userId'>,
): { sealed: string; challenge: string } {
  const challenge = randomBytes(32).toString('base64url')
  const all: Challenge = { ...facts, challenge, expiresAt: timestamp(nowMs + challengeLifeMs) }
  return { sealed: secrets.seal(JSON.stringify(all), boundTo), challenge }
}

/** Throws `unauthenticated` for one that was altered, made for something else, or is too old. */
export function openChallenge(
  { secrets, now }: { secrets: SecretBox; now: string },
  sealed: string,
  purpose: Challenge['purpose'],
): Challenge {
  let opened: Challenge
  try {
    opened = JSON.parse(secrets.open(sealed, boundTo))
  } catch {
    throw passkeyInvalid()
  }
  if (opened.purpose !== purpose || opened.expiresAt <= now) throw passkeyInvalid()
  return opened
}

/** Each challenge is answered once. */
export async function spend(tx: Tx, challenge: Challenge): Promise<void> {
  if (!(await spendOnce(tx, challenge))) throw passkeyInvalid()
}

/** False if it was spent before. */
export async function spendOnce(
  tx: Tx,
  { challenge, expiresAt }: Pick<Challenge, 'challenge' | 'expiresAt'>,
): Promise<boolean> {
  const challengeHash = createHash('sha256').update(challenge).digest('hex')
  return spendChallenge(tx, { challengeHash, expiresAt })
}

/** The same bytes in each case. */
export function passkeyInvalid(): AppError {
  return new AppError('unauthenticated', 'Passkey is not valid', {
    details:
      'It was removed, belongs to another address, or the attempt took too long. Try again, or another way.',
  })
}

/** The library's form of a stored passkey. */
export function credentialOf({ credentialId: id, publicKey, counter, transports }: Passkey) {
  return {
    ...{ id, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')), counter },
    transports: transports as AuthenticatorTransport[],
  }
}
