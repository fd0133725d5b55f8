import type { Domain } from '../../contract/domains.ts'
import type { CheckedCertificate } from './certificate.ts'

/** As stored. The private key is sealed, bound to `<domainId>/key`. */
export interface StoredDomain extends Omit<Domain, 'certificate'> {
  domainId: string
  accountId: string
  certificate: (NonNullable<Domain['certificate']> & { chain: string; key: string }) | null
  /** When the worker checks it next. */
  dueAt: string
  createdAt: string
  revision: number
}

/** What the private key of a domain is sealed for. */
export function keyName(domainId: string): string {
  return `${domainId}/key`
}

/** The fields that callers see. */
export function domainShown({ certificate, ...stored }: StoredDomain): Domain {
  const { domain, appEnvId, status, dns, challenge, lastError, attempts, redirect, hsts } = stored
  const { chain: _chain, key: _key, ...shown } = certificate ?? {}
  return {
    ...{ domain, appEnvId, status, dns, challenge },
    certificate: certificate ? (shown as NonNullable<Domain['certificate']>) : null,
    ...{ lastError, attempts, redirect, hsts },
  }
}

/** A domain that is served with an uploaded certificate from now on. */
export function withUploaded(
  domain: StoredDomain,
  { certificate, chain }: { certificate: CheckedCertificate; chain: string },
  sealedKey: string,
): StoredDomain {
  return {
    ...domain,
    status: 'active',
    certificate: {
      source: 'uploaded',
      ...certificate,
      ...{ renewAt: null, profile: null, chain, key: sealedKey },
    },
    ...{ lastError: null, attempts: 0 },
  }
}
