import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { AppError } from '../../errors.ts'

export interface CheckedCertificate {
  issuer: string
  /** DNS names in lower case. */
  names: string[]
  notBefore: string
  notAfter: string
}

const mostCertificates = 10

/** Throws `invalid` unless the chain belongs together and to the key, and the certificate is valid for the domain now. */
export function checkCertificate(
  { chain, key }: { chain: string; key: string },
  domain: string,
  nowMs: number,
): CheckedCertificate {
  const certificates = readChain(chain)
  const [leaf, ...issuers] = certificates as [X509Certificate, ...X509Certificate[]]
  if (!leaf.checkPrivateKey(readKey(key))) throw refused('The private key does not belong to the certificate')
  const facts = certificateFacts(leaf)
  if (!coversName(facts.names, domain)) {
    throw refused(
      `The certificate is not valid for ${domain}`,
      `Its names: ${facts.names.slice(0, 10).join(', ') || 'none'}.`,
    )
  }
  for (const one of certificates) checkDates(one, nowMs)
  let before = leaf
  for (const issuer of issuers) {
    if (!before.checkIssued(issuer) || !before.verify(issuer.publicKey)) {
      throw refused('The chain is broken', 'Each certificate must be followed by the one that signed it.')
    }
    before = issuer
  }
  return facts
}

/** The facts of the first certificate of a chain. */
export function certificateFacts(leaf: X509Certificate): CheckedCertificate {
  const names = [...(leaf.subjectAltName ?? '').matchAll(/DNS:([^,\s"]+)/g)].map(([, name]) => name!)
  const issuer = /(?:^|\n)O=(.*)/.exec(leaf.issuer)?.[1] ?? /(?:^|\n)CN=(.*)/.exec(leaf.issuer)?.[1] ?? ''
  return {
    issuer: issuer.replace(/[^\x20-\x7e]/g, '?').slice(0, 200),
    names: names.map((name) => name.toLowerCase()),
    notBefore: new Date(leaf.validFrom).toISOString(),
    notAfter: new Date(leaf.validTo).toISOString(),
  }
}

function readChain(chain: string): X509Certificate[] {
  const blocks = chain.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  if (blocks.length === 0 || blocks.length > mostCertificates) {
    throw refused(
      'The chain is not PEM',
      `Give 1 to ${mostCertificates} certificates, that of the domain first.`,
    )
  }
  try {
    return blocks.map((block) => new X509Certificate(block))
  } catch {
    throw refused('The chain contains a certificate that cannot be read')
  }
}

function readKey(key: string): KeyObject {
  let read: KeyObject
  try {
    read = createPrivateKey(key)
  } catch {
    throw refused('The private key cannot be read', 'Give it as PEM without a passphrase.')
  }
  const { modulusLength = 2_048 } = read.asymmetricKeyDetails ?? {}
  if (!['rsa', 'ec'].includes(read.asymmetricKeyType ?? '') || modulusLength < 2_048) {
    throw refused('This kind of private key is not supported', 'Use RSA of at least 2048 bits, or ECDSA.')
  }
  return read
}

function checkDates(certificate: X509Certificate, nowMs: number): void {
  if (Date.parse(certificate.validTo) <= nowMs) {
    throw refused('A certificate of the chain has expired', `It was valid to ${certificate.validTo}.`)
  }
  if (Date.parse(certificate.validFrom) > nowMs) {
    throw refused('A certificate of the chain is not valid yet', `It is valid from ${certificate.validFrom}.`)
  }
}

/** A wildcard stands for one label. */
function coversName(names: readonly string[], domain: string): boolean {
  return names.includes(domain) || names.includes(`*${domain.slice(domain.indexOf('.'))}`)
}

function refused(message: string, details?: string): AppError {
  return new AppError('invalid', message, details === undefined ? {} : { details })
}
