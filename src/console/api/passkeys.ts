import type { RawInputOf } from '../../contract/operation.ts'
import type { createUserPasskey, PasskeyAnswer } from '../../contract/sign-in.ts'
import { AppError } from '../../errors.ts'
import { sessionRequest } from './session.ts'

interface Challenged<Options> {
  challenge: string
  options: Options
}

interface SignInOptions {
  challenge: string
  rpId: string
  timeout?: number
}

interface RegistrationOptions {
  challenge: string
  rp: { id: string; name: string }
  user: { id: string; name: string; displayName: string }
  pubKeyCredParams: PublicKeyCredentialParameters[]
  authenticatorSelection: AuthenticatorSelectionCriteria
  excludeCredentials: { id: string }[]
  timeout?: number
}

/** The browser asks the person for a passkey. Throws `AppError`, also when the person declines. */
export async function askForPasskey(): Promise<PasskeyAnswer> {
  const { challenge, options } = await askPlatform<SignInOptions>('sign-in')
  const { rpId, timeout = 60_000 } = options
  const found = await declined(() =>
    navigator.credentials.get({
      publicKey: { challenge: bytesOf(options.challenge), rpId, timeout, userVerification: 'required' },
    }),
  )
  const { id, response } = found as PublicKeyCredential & { response: AuthenticatorAssertionResponse }
  return {
    challenge,
    id,
    clientDataJSON: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    userHandle: response.userHandle ? textOf(response.userHandle) : null,
  }
}

/** The browser makes a passkey for the user of the session. Throws as `askForPasskey`. */
export async function makePasskey(): Promise<RawInputOf<typeof createUserPasskey>['credential']> {
  const { challenge, options } = await askPlatform<RegistrationOptions>('registration')
  const { rp, user, pubKeyCredParams, authenticatorSelection, excludeCredentials, timeout = 60_000 } = options
  const made = await declined(() =>
    navigator.credentials.create({
      publicKey: {
        ...{ rp, pubKeyCredParams, authenticatorSelection, timeout, attestation: 'none' },
        challenge: bytesOf(options.challenge),
        user: { ...user, id: bytesOf(user.id) },
        excludeCredentials: excludeCredentials.map(({ id }) => ({ id: bytesOf(id), type: 'public-key' })),
      },
    }),
  )
  const { id, response } = made as PublicKeyCredential & { response: AuthenticatorAttestationResponse }
  return {
    challenge,
    id,
    clientDataJSON: textOf(response.clientDataJSON),
    attestationObject: textOf(response.attestationObject),
    transports: response.getTransports(),
  }
}

function askPlatform<Options>(purpose: 'sign-in' | 'registration'): Promise<Challenged<Options>> {
  return sessionRequest('POST', '/console/passkey-challenge', { for: purpose }) as Promise<
    Challenged<Options>
  >
}

async function declined(ask: () => Promise<Credential | null>): Promise<Credential> {
  const credential = await ask().catch(() => null)
  if (credential !== null) return credential
  throw new AppError('invalid', 'The browser gave no passkey', {
    details: 'You declined, it took too long, or this device has none for this address.',
  })
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
}

function textOf(bytes: ArrayBuffer): string {
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes)))
  return text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
