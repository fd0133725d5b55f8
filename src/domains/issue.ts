import { createHash, generateKeyPairSync } from 'node:crypto'
import { certificateRequest, challengeCertificate, renewalId } from '../acme/certificates.ts'
import type { AcmeAccount, AcmeClient, Authorization, Order } from '../acme/client.ts'
import { AcmeError, problemOf } from '../acme/error.ts'
import type { Clock } from '../clock.ts'
import type { StoredDomain } from '../domain/domains/domain.ts'
import type { StoredChallenge } from '../store/repositories/challenges.ts'

/** Shows proofs to the certificate authority, under a domain. */
export interface ProofPlaces {
  /** Resolves when every gateway shows it. */
  show(challenge: StoredChallenge): Promise<void>
  /** Resolves when the DNS shows a TXT record. */
  setTxtRecord(domain: string, value: string): Promise<void>
  /** Removes all of them; never throws. */
  clear(domain: string): Promise<void>
}

interface IssueDeps {
  client: AcmeClient
  clock: Clock
  proofs: ProofPlaces
  profile: string | undefined
}

export interface Issued {
  chain: string
  /** PEM. */
  key: string
  profile: string | null
}

/** Orders a certificate for one domain. `issuing`: called once the domain has been validated. Throws `AcmeError`. */
export async function issueCertificate(
  deps: IssueDeps,
  account: AcmeAccount,
  domain: StoredDomain,
  issuing: () => Promise<void>,
): Promise<Issued> {
  const { client, proofs } = deps
  const profile = await offeredProfile(deps)
  const { url, order } = await newOrder(deps, account, domain, profile)
  try {
    for (const one of order.authorizations) await validate(deps, account, domain, one)
  } finally {
    await proofs.clear(domain.domain)
  }
  await issuing()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const ready = await client.poll<Order>(account, url, ({ status }) => status !== 'pending')
  if (ready.status === 'ready') {
    await client.finalize(account, ready.finalize, certificateRequest([domain.domain], privateKey))
  }
  const isDone = ({ status }: Order) => status === 'valid' || status === 'invalid'
  const done = await client.poll<Order>(account, url, isDone)
  if (done.status === 'invalid' || done.certificate === undefined) throw problemOf(done.error, 200)
  const chain = await client.certificate(account, done.certificate)
  return { chain, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, profile }
}

/** The profile of the settings, if the authority has profiles at all. */
async function offeredProfile({ client, profile }: IssueDeps): Promise<string | null> {
  const { meta } = await client.directory()
  return meta?.profiles === undefined ? null : (profile ?? null)
}

async function newOrder(
  { client }: IssueDeps,
  account: AcmeAccount,
  { domain, certificate }: StoredDomain,
  profile: string | null,
): Promise<{ url: string; order: Order }> {
  const names = [domain]
  const replaces = certificate?.source === 'acme' ? renewalId(certificate.chain) : null
  try {
    return await client.newOrder(account, { names, profile, replaces })
  } catch (error) {
    // The certificate before may be of another authority or account, or its renewal was begun before.
    const refused = error instanceof AcmeError && ['alreadyReplaced', 'malformed'].includes(error.type)
    if (replaces === null || !refused) throw error
    return client.newOrder(account, { names, profile, replaces: null })
  }
}

async function validate(
  { client, clock, proofs }: IssueDeps,
  account: AcmeAccount,
  { domain, challenge: type }: StoredDomain,
  url: string,
): Promise<void> {
  const authorization = await client.authorization(account, url)
  if (authorization.status === 'valid') return
  const challenge = authorization.challenges.find((one) => one.type === type)
  if (!challenge) {
    throw new AcmeError(
      'unsupportedChallenge',
      `The certificate authority does not offer ${type} for ${domain}.`,
    )
  }
  const proof = client.proof(account, challenge.token)
  if (type === 'http-01') {
    await proofs.show({ type, domain, token: challenge.token, keyAuthorization: proof })
  } else if (type === 'tls-alpn-01') {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const chain = challengeCertificate(domain, proof, privateKey, clock.wallMs())
    await proofs.show({
      ...{ type, domain, chain },
      key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    })
  } else await proofs.setTxtRecord(domain, createHash('sha256').update(proof).digest('base64url'))
  await client.respond(account, challenge.url)
  const done = await client.poll<Authorization>(account, url, ({ status }) => status !== 'pending')
  if (done.status === 'valid') return
  const failed = done.challenges.find(({ error }) => error !== undefined)
  throw problemOf(failed?.error, 200)
}
