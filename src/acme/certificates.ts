import { createHash, createPublicKey, type KeyObject, randomBytes, sign, X509Certificate } from 'node:crypto'
import {
  bits,
  type Element,
  elementsOf,
  integer,
  objectId,
  octets,
  sequence,
  setOf,
  tagged,
  utcTime,
  utf8,
  yes,
} from './der.ts'

const ecdsaWithSha256 = sequence(objectId('1.2.840.10045.4.3.2'))
const extensionRequest = objectId('1.2.840.113549.1.9.14')
const subjectAltName = objectId('2.5.29.17')
const acmeIdentifier = objectId('1.3.6.1.5.5.7.1.31')
const authorityKeyIdentifier = objectId('2.5.29.35').subarray(2)
const dayMs = 86_400_000

/** A certificate request (RFC 2986) for these names, in DER; the key is of P-256. */
export function certificateRequest(names: readonly string[], key: KeyObject): Buffer {
  const extensions = sequence(namesExtension(names))
  const attributes = tagged(0xa0, sequence(extensionRequest, setOf(extensions)))
  const version = integer(Buffer.from([0]))
  return signed(sequence(version, sequence(), publicKeyOf(key), attributes), key)
}

/** The self-signed certificate of TLS-ALPN-01 (RFC 8737), in PEM. */
export function challengeCertificate(
  domain: string,
  keyAuthorization: string,
  key: KeyObject,
  nowMs: number,
): string {
  const digest = createHash('sha256').update(keyAuthorization).digest()
  const name = sequence(setOf(sequence(objectId('2.5.4.3'), utf8('ACME challenge'))))
  const serial = randomBytes(16)
  serial[0] = 1
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(utcTime(nowMs - dayMs), utcTime(nowMs + 7 * dayMs)),
    name,
    publicKeyOf(key),
    tagged(0xa3, sequence(namesExtension([domain]), sequence(acmeIdentifier, yes, octets(octets(digest))))),
  )
  const text = signed(body, key).toString('base64').replace(/.{64}/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`
}

/** The id of a certificate for renewal information (RFC 9773); null if it names no key of its issuer. */
export function renewalId(chain: string): string | null {
  const [body] = elementsOf(elementsOf(new X509Certificate(chain).raw)[0]!.content)
  const parts = elementsOf(body!.content)
  const serial = parts.find(({ tag }) => tag === 0x02)
  const extensions = parts.find(({ tag }) => tag === 0xa3)
  const keyId = extensions && issuerKeyId(extensions)
  return serial && keyId ? `${keyId.toString('base64url')}.${serial.content.toString('base64url')}` : null
}

function issuerKeyId({ content }: Element): Buffer | undefined {
  const all = elementsOf(content).flatMap((list) => elementsOf(list.content))
  const found = all
    .map((one) => elementsOf(one.content))
    .find(([id]) => id!.content.equals(authorityKeyIdentifier))
  const value = found?.find(({ tag }) => tag === 0x04)
  const [inner] = value ? elementsOf(value.content) : []
  return inner && elementsOf(inner.content).find(({ tag }) => tag === 0x80)?.content
}

function namesExtension(names: readonly string[]): Buffer {
  return sequence(
    subjectAltName,
    octets(sequence(...names.map((name) => tagged(0x82, Buffer.from(name, 'latin1'))))),
  )
}

function publicKeyOf(key: KeyObject): Buffer {
  return createPublicKey(key).export({ type: 'spki', format: 'der' })
}

function signed(body: Buffer, key: KeyObject): Buffer {
  return sequence(body, ecdsaWithSha256, bits(sign('sha256', body, key)))
}
