import type { AuthenticatorTransport } from '@simplewebauthn/server'
import type { InputOf } from '../../contract/operation.ts'
import { createUserPasskey } from '../../contract/sign-in.ts'
import { AppError } from '../../errors.ts'
import { findPasskey, insertPasskey, listPasskeys, type Passkey } from '../../store/repositories/passkeys.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { type Challenge, openChallenge, spend } from './passkey-challenges.ts'

const mostPasskeys = 20

export default handler(createUserPasskey, async ({ tx, now, caller, secrets }, { name, credential }) => {
  const userId = userOf(caller)
  const challenge = challengeOf({ secrets, now }, credential.challenge)
  if (challenge?.userId !== userId) throw notRegistered()
  if ((await listPasskeys(tx, userId)).length >= mostPasskeys) {
    throw new AppError('invalid', `A user has at most ${mostPasskeys} passkeys`, {
      details: 'Remove one that is no longer needed.',
    })
  }
  const registered = await verified(credential, challenge)
  await spend(tx, challenge).catch((error) => {
    throw error instanceof AppError ? notRegistered() : error
  })
  if (await findPasskey(tx, registered.credentialId)) throw notRegistered()
  const { rpId } = challenge
  const passkey = await insertPasskey(tx, { ...registered, name, rpId, userId, createdAt: now })
  const { passkeyId, backedUp } = passkey
  return {
    answer: { message: `The passkey signs you in at ${rpId}`, passkeyId },
    change: {
      ...{ objectType: 'passkey', objectId: passkeyId, accountId: null },
      ...{ before: null, after: { name, rpId, backedUp } },
    },
    impact: { actions: ['change-credential'] },
    effects: [`The person who unlocks it can sign in as you at ${rpId}.`],
  }
})

function challengeOf(around: Parameters<typeof openChallenge>[0], sealed: string): Challenge | null {
  try {
    return openChallenge(around, sealed, 'registration')
  } catch {
    return null
  }
}

async function verified(
  { id, clientDataJSON, attestationObject, transports }: InputOf<typeof createUserPasskey>['credential'],
  { challenge, origin, rpId }: Challenge,
): Promise<Pick<Passkey, 'credentialId' | 'publicKey' | 'counter' | 'transports' | 'backedUp'>> {
  const webauthn = await import('@simplewebauthn/server')
  const result = await webauthn
    .verifyRegistrationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: {
          clientDataJSON,
          attestationObject,
          transports: transports as AuthenticatorTransport[],
        },
      },
      ...{ expectedChallenge: challenge, expectedOrigin: origin, expectedRPID: rpId },
      requireUserVerification: true,
    })
    .catch(() => null)
  if (!result?.verified) throw notRegistered()
  const { credential, credentialBackedUp: backedUp } = result.registrationInfo
  const publicKey = Buffer.from(credential.publicKey).toString('base64url')
  return { credentialId: credential.id, publicKey, counter: credential.counter, transports, backedUp }
}

function notRegistered(): AppError {
  return new AppError('invalid', 'The passkey was not added', {
    details:
      'Its challenge was used, has expired, or is of another user or address. Add it on the page Passkeys and sessions of the console.',
  })
}
