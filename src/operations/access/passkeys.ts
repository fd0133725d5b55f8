import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/server'
import type { Clock } from '../../clock.ts'
import { timestamp } from '../../clock.ts'
import type { PasskeyAnswer } from '../../contract/sign-in.ts'
import type { Db } from '../../store/db.ts'
import { findPasskey, listPasskeys, notePasskeyUse, type Passkey } from '../../store/repositories/passkeys.ts'
import { findUser } from '../../store/repositories/users.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { Claim } from './console-sessions.ts'
import {
  type Challenge,
  credentialOf,
  newChallenge,
  openChallenge,
  passkeyInvalid,
  type RelyingParty,
  spend,
} from './passkey-challenges.ts'

/** A sealed challenge, and the options for `navigator.credentials`. */
interface Challenged<Options> {
  challenge: string
  options: Options
}

/** Sign-in with passkeys (WebAuthn): discoverable, with verification of the user by the device. */
export interface Passkeys {
  /** Names no passkey, so that the answer is the same for everybody. */
  forSignIn(site: RelyingParty): Promise<Challenged<PublicKeyCredentialRequestOptionsJSON>>
  forRegistration(
    site: RelyingParty,
    userId: string,
  ): Promise<Challenged<PublicKeyCredentialCreationOptionsJSON>>
  /** Throws `unauthenticated`, with the same bytes in each case. */
  claim(answer: PasskeyAnswer): Promise<Claim>
}

interface Deps {
  db: Db
  clock: Clock
  secrets: SecretBox
}

export function createPasskeys(deps: Deps): Passkeys {
  const { db, clock, secrets } = deps
  const around = () => ({ secrets, nowMs: clock.wallMs() })
  return {
    async forSignIn(site) {
      const webauthn = await import('@simplewebauthn/server')
      const { sealed, challenge } = newChallenge(around(), { ...site, purpose: 'sign-in', userId: null })
      const options = await webauthn.generateAuthenticationOptions({
        rpID: site.rpId,
        challenge: Buffer.from(challenge, 'base64url'),
        userVerification: 'required',
      })
      return { challenge: sealed, options }
    },

    async forRegistration(site, userId) {
      const webauthn = await import('@simplewebauthn/server')
      const { sealed, challenge } = newChallenge(around(), { ...site, purpose: 'registration', userId })
      const [user, passkeys] = await db.read(async (tx) => [
        await findUser(tx, { userId }),
        await listPasskeys(tx, userId),
      ])
      const options = await webauthn.generateRegistrationOptions({
        ...{ rpName: 'Longshore', rpID: site.rpId, challenge: Buffer.from(challenge, 'base64url') },
        ...{ userName: user?.email ?? userId, userDisplayName: user?.name ?? '' },
        userID: Buffer.from(userId),
        attestationType: 'none',
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
        excludeCredentials: passkeys.map(({ credentialId }) => ({ id: credentialId })),
      })
      return { challenge: sealed, options }
    },

    async claim(answer) {
      const challenge = openChallenge(
        { secrets, now: timestamp(clock.wallMs()) },
        answer.challenge,
        'sign-in',
      )
      const passkey = await db.read((tx) => findPasskey(tx, answer.id))
      if (!passkey) throw passkeyInvalid()
      // Before the transaction: strangers may send anything, and a write makes others wait.
      const used = await verified(answer, challenge, passkey)
      return async (tx, now) => {
        await spend(tx, challenge)
        const stored = await findPasskey(tx, answer.id)
        // Removed, or used since: two devices with the same counter are copies.
        if (stored?.userId !== passkey.userId || stored.counter !== passkey.counter) throw passkeyInvalid()
        await notePasskeyUse(tx, { ...stored, ...used }, now)
        return { userId: stored.userId, tokenId: null, method: 'passkey', provedAt: now }
      }
    },
  }
}

async function verified(
  { id, clientDataJSON, authenticatorData, signature, userHandle }: PasskeyAnswer,
  { challenge, origin, rpId }: Challenge,
  passkey: Passkey,
): Promise<Pick<Passkey, 'counter' | 'backedUp'>> {
  const isOfUser = userHandle === null || Buffer.from(userHandle, 'base64url').toString() === passkey.userId
  if (!isOfUser || passkey.rpId !== rpId) throw passkeyInvalid()
  const webauthn = await import('@simplewebauthn/server')
  const result = await webauthn
    .verifyAuthenticationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON, authenticatorData, signature },
      },
      ...{ expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: rpId },
      credential: credentialOf(passkey),
      requireUserVerification: true,
    })
    .catch(() => null)
  if (!result?.verified) throw passkeyInvalid()
  const { newCounter: counter, credentialBackedUp: backedUp } = result.authenticationInfo
  return { counter, backedUp }
}
