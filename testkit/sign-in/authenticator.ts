import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import type { WebClient } from './web-client.ts'

interface Challenged {
  challenge: string
  options: { challenge: string; rpId?: string; rp?: { id?: string }; user?: { id: string } }
}

/** What an answer says other than it should. */
interface Deviations {
  origin?: string
  type?: string
  rpId?: string
  counter?: number
  /** 1: present, 4: verified. */
  flags?: number
  userHandle?: string | null
  challenge?: string
}

const sha256 = (text: string | Buffer) => createHash('sha256').update(text).digest()

/** An authenticator in software, with one passkey, that signs what it gets. */
export class SoftAuthenticator {
  readonly credentialId = randomBytes(32)
  readonly #keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  counter = 0
  #userHandle = ''

  get id(): string {
    return this.credentialId.toString('base64url')
  }

  /** The answer to `navigator.credentials.create`. */
  register({ options, challenge }: Challenged, origin: string, wrong: Deviations = {}) {
    this.#userHandle = options.user!.id
    const rpId = wrong.rpId ?? options.rp!.id!
    const attested = Buffer.concat([
      Buffer.alloc(16),
      Buffer.from([0, 32]),
      this.credentialId,
      this.#coseKey(),
    ])
    const authData = Buffer.concat([this.#head(rpId, (wrong.flags ?? 5) | 64, this.counter), attested])
    return {
      challenge,
      id: this.id,
      clientDataJSON: this.#clientData(
        'webauthn.create',
        wrong.challenge ?? options.challenge,
        origin,
        wrong,
      ),
      attestationObject: cbor(
        new Map<string, unknown>([
          ['fmt', 'none'],
          ['attStmt', new Map()],
          ['authData', authData],
        ]),
      ).toString('base64url'),
      transports: ['internal'],
    }
  }

  /** The answer to `navigator.credentials.get`. */
  answer({ options, challenge }: Challenged, origin: string, wrong: Deviations = {}) {
    this.counter = wrong.counter ?? this.counter + 1
    const authData = this.#head(wrong.rpId ?? options.rpId!, wrong.flags ?? 5, this.counter)
    const clientDataJSON = this.#clientData(
      'webauthn.get',
      wrong.challenge ?? options.challenge,
      origin,
      wrong,
    )
    const signed = Buffer.concat([authData, sha256(Buffer.from(clientDataJSON, 'base64url'))])
    return {
      challenge,
      id: this.id,
      clientDataJSON,
      authenticatorData: authData.toString('base64url'),
      signature: sign('sha256', signed, this.#keys.privateKey).toString('base64url'),
      userHandle: wrong.userHandle === undefined ? this.#userHandle : wrong.userHandle,
    }
  }

  #head(rpId: string, flags: number, counter: number): Buffer {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(counter)
    return Buffer.concat([sha256(rpId), Buffer.from([flags]), count])
  }

  #clientData(type: string, challenge: string, origin: string, wrong: Deviations): string {
    const data = { type: wrong.type ?? type, challenge, origin: wrong.origin ?? origin, crossOrigin: false }
    return Buffer.from(JSON.stringify(data)).toString('base64url')
  }

  #coseKey(): Buffer {
    const { x, y } = (this.#keys.publicKey as KeyObject).export({ format: 'jwk' })
    return cbor(
      new Map<number, unknown>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, Buffer.from(x!, 'base64url')],
        [-3, Buffer.from(y!, 'base64url')],
      ]),
    )
  }
}

export async function challengeFor(
  client: WebClient,
  purpose: 'sign-in' | 'registration',
): Promise<Challenged> {
  return (await client.post('/console/passkey-challenge', { for: purpose })).json() as Promise<Challenged>
}

/** Adds a passkey to the user of a session. */
export async function addPasskey(client: WebClient, device = new SoftAuthenticator(), name = 'Phone') {
  const credential = device.register(await challengeFor(client, 'registration'), client.origin)
  const { status, json } = await client.call('POST', '/user/passkey', { name, credential })
  if (status !== 200) throw new Error(`passkey: ${status} ${JSON.stringify(json)}`)
  return { device, passkeyId: json.passkeyId as string }
}

/** Of no authenticator. */
export const emptyCredential = { challenge: 'x', id: 'x', clientDataJSON: 'x', attestationObject: 'x' }

/** CBOR of maps, texts, bytes and small integers. */
function cbor(value: unknown): Buffer {
  if (typeof value === 'number') return value < 0 ? header(1, -1 - value) : header(0, value)
  if (typeof value === 'string')
    return Buffer.concat([header(3, Buffer.byteLength(value)), Buffer.from(value)])
  if (value instanceof Uint8Array) return Buffer.concat([header(2, value.length), value])
  const entries = [...(value as Map<unknown, unknown>)]
  return Buffer.concat([header(5, entries.length), ...entries.flat().map(cbor)])
}

function header(major: number, size: number): Buffer {
  if (size < 24) return Buffer.from([(major << 5) | size])
  return size < 256
    ? Buffer.from([(major << 5) | 24, size])
    : Buffer.from([(major << 5) | 25, size >> 8, size & 255])
}
