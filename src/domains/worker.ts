import { X509Certificate } from 'node:crypto'
import { renewalId } from '../acme/certificates.ts'
import type { AcmeClient } from '../acme/client.ts'
import { AcmeError } from '../acme/error.ts'
import { type Clock, timestamp } from '../clock.ts'
import { certificateFacts } from '../domain/domains/certificate.ts'
import { type Destination, expectedRecords, leadsHere } from '../domain/domains/dns.ts'
import { keyName, type StoredDomain } from '../domain/domains/domain.ts'
import { nextLookMs, retryAtMs, timeInWindow, usualRenewal } from '../domain/domains/schedule.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import { changeDomain, listDueDomains } from '../store/repositories/domains.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import { Worker } from '../worker.ts'
import { AcmeAccounts } from './accounts.ts'
import { type Issued, issueCertificate, type ProofPlaces } from './issue.ts'
import type { Lookup } from './lookup.ts'

interface DomainWorkerDeps {
  db: Db
  secrets: SecretBox
  clock: Clock
  log: Log
  lookup: Lookup
  /** Null: certificates are not ordered. */
  acme: { client: AcmeClient; url: string; profile: string | undefined } | null
  proofs: ProofPlaces
  /** Where the DNS of a domain has to lead; null if its environment is gone. */
  destinationOf(appEnvId: string): Promise<Destination | null>
  /** The routes of an environment change. */
  wake(appEnvIds: readonly string[]): void
  random?: () => number
}

type Change = Partial<StoredDomain>

const everyMs = 1_000
const atOnce = 8
const renewalInfoMs = 6 * 3_600_000
const uploadedCheckMs = 3_600_000

/**
 * Brings domains to their certificates: checks the DNS, orders once it leads here, renews, and records the result.
 * One control plane of the installation does it. Everything is in the rows, so that another one goes on with it.
 */
export class DomainWorker {
  readonly #deps: DomainWorkerDeps
  readonly #worker: Worker
  readonly #accounts: AcmeAccounts | null
  /** Domains under way. */
  readonly #busy = new Set<string>()
  #stopped = false

  constructor(deps: DomainWorkerDeps) {
    this.#deps = deps
    const { acme, clock, log } = deps
    this.#accounts = acme && new AcmeAccounts({ ...deps, client: acme.client, directoryUrl: acme.url })
    this.#worker = new Worker({
      ...{ clock, everyMs, pass: () => this.pass() },
      failed: (error) => log.error({ err: error }, 'domains could not be checked; retrying'),
    })
  }

  start(): void {
    this.#worker.start()
  }

  /** Orders under way are dropped, as after a crash: the next worker makes them again. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#worker.stop()
  }

  /** Begins with the domains that are due; a slow order does not hold up the others. */
  async pass(): Promise<void> {
    const due = await this.#deps.db.read((tx) => listDueDomains(tx, this.#now(), 2 * atOnce))
    for (const domain of due) {
      const { domainId } = domain
      if (this.#busy.has(domainId) || this.#busy.size >= atOnce) continue
      this.#busy.add(domainId)
      void this.#check(domain)
        .catch((error) => this.#bug(domain, error))
        .finally(() => this.#busy.delete(domainId))
    }
  }

  async #bug(domain: StoredDomain, error: unknown): Promise<void> {
    const { log } = this.#deps
    log.error({ err: error, domain: domain.domain }, 'a domain could not be checked; retrying')
    await this.#save(domain, { dueAt: this.#at(60_000) }).catch(() => {})
  }

  async #check(domain: StoredDomain): Promise<void> {
    const destination = await this.#deps.destinationOf(domain.appEnvId)
    if (!destination) return this.#save(domain, { dueAt: this.#at(uploadedCheckMs) })
    const { dns, problem } = await this.#checkDns(domain, destination)
    const isHere = leadsHere(dns.seen, dns.expected)
    if (domain.certificate?.source === 'uploaded') return this.#checkUploaded(domain, dns)
    if (!isHere) return this.#wait(domain, dns, problem)
    if (!this.#deps.acme) return this.#cannotOrder(domain, dns)
    if (this.#isRenewable(domain)) return this.#order({ ...domain, dns })
    return this.#keep(domain, dns)
  }

  /** The host's own name is resolved too: records with its addresses lead here as well. */
  async #checkDns({ domain }: StoredDomain, { host, addresses }: Destination) {
    const { lookup } = this.#deps
    const name = domain.replace(/^\*/, 'longshore-check')
    const [found, own] = await Promise.all([lookup(name), host === null ? null : lookup(host)])
    const all = own ? own.records.filter(({ type }) => type !== 'CNAME').map(({ value }) => value) : addresses
    const expected = expectedRecords(domain, { host, addresses: all })
    return { dns: { expected, seen: found.records, checkedAt: this.#now() }, problem: found.problem }
  }

  async #checkUploaded(domain: StoredDomain, dns: StoredDomain['dns']): Promise<void> {
    const isOver = Date.parse(domain.certificate!.notAfter) <= this.#nowMs()
    const detail = 'The uploaded certificate has expired. Upload the next one.'
    await this.#save(domain, {
      ...{ dns, dueAt: this.#at(uploadedCheckMs) },
      status: isOver ? 'failed' : 'active',
      lastError: isOver ? { type: 'expired', detail, retryAt: null } : null,
    })
  }

  async #wait(domain: StoredDomain, dns: StoredDomain['dns'], problem: string | null): Promise<void> {
    const nextMs = domain.certificate
      ? this.#nowMs() + 60_000
      : nextLookMs(Date.parse(domain.createdAt), this.#nowMs())
    const dueAt = timestamp(nextMs)
    const seen = dns.seen.map(({ type, value }) => `${type} ${value}`).join(', ')
    const detail =
      problem ?? `The DNS of ${domain.domain} ${seen ? `leads elsewhere: ${seen}.` : 'has no record.'}`
    await this.#save(domain, {
      ...{ dns, dueAt },
      status: this.#hasValid(domain) ? 'active' : 'waiting-dns',
      lastError: { type: 'dns', detail, retryAt: dueAt },
    })
  }

  async #cannotOrder(domain: StoredDomain, dns: StoredDomain['dns']): Promise<void> {
    const detail = 'This installation orders no certificates: set LONGSHORE_ACME_EMAIL, or upload one.'
    const dueAt = this.#at(uploadedCheckMs)
    const lastError = { type: 'notConfigured', detail, retryAt: null }
    await this.#save(domain, {
      ...{ dns, dueAt, lastError },
      status: this.#hasValid(domain) ? 'active' : 'failed',
    })
  }

  /** Has a certificate that is not due yet; the authority may have moved its renewal. */
  async #keep(domain: StoredDomain, dns: StoredDomain['dns']): Promise<void> {
    const certificate = domain.certificate!
    const { renewAtMs, nextMs } = await this.#renewal(certificate.chain, Date.parse(certificate.renewAt!))
    await this.#save(domain, {
      ...{ dns, status: 'active', lastError: null, dueAt: timestamp(Math.min(renewAtMs, nextMs)) },
      certificate: { ...certificate, renewAt: timestamp(renewAtMs) },
    })
  }

  async #order(domain: StoredDomain): Promise<void> {
    const attempts = domain.attempts + 1
    const isRenewal = this.#hasValid(domain)
    const step = (status: StoredDomain['status']) => this.#save(domain, isRenewal ? {} : { status })
    // Counted before it begins: a crash during each order must not lead to one a second.
    const dueAt = timestamp(retryAtMs(attempts, this.#nowMs(), null))
    await this.#save(domain, {
      ...{ attempts, dns: domain.dns, dueAt, lastError: domain.lastError },
      ...(isRenewal ? {} : { status: 'validating' as const }),
    })
    try {
      const { acme, clock, proofs } = this.#deps
      const deps = { client: acme!.client, profile: acme!.profile, clock, proofs }
      const issued = await this.#accounts!.with((account) =>
        issueCertificate(deps, account, domain, () => step('issuing')),
      )
      await this.#install(domain, issued)
    } catch (error) {
      if (!(error instanceof AcmeError)) throw error
      await this.#failed(domain, attempts, error)
    }
  }

  async #install(domain: StoredDomain, { chain, key, profile }: Issued): Promise<void> {
    const { secrets, wake, log } = this.#deps
    const facts = certificateFacts(new X509Certificate(chain))
    const { renewAtMs, nextMs } = await this.#renewal(chain, usualRenewal(facts))
    await this.#save(domain, {
      status: 'active',
      certificate: {
        ...{ source: 'acme', ...facts, renewAt: timestamp(renewAtMs), profile, chain },
        key: secrets.seal(key, keyName(domain.domainId)),
      },
      ...{ lastError: null, attempts: 0, dueAt: timestamp(Math.min(renewAtMs, nextMs)) },
    })
    log.info({ domain: domain.domain, notAfter: facts.notAfter }, 'a certificate was issued')
    wake([domain.appEnvId])
  }

  async #failed(domain: StoredDomain, attempts: number, error: AcmeError): Promise<void> {
    const { type, message: detail, retryAfterMs } = error
    const requested = type === 'rateLimited' ? Math.max(retryAfterMs ?? 0, 3_600_000) : retryAfterMs
    const retryAt = timestamp(retryAtMs(attempts, this.#nowMs(), requested))
    this.#deps.log.warn(
      { domain: domain.domain, type, detail, retryAt },
      'a certificate was not issued; retrying',
    )
    await this.#save(domain, {
      status: this.#hasValid(domain) ? 'active' : 'failed',
      ...{ lastError: { type, detail, retryAt }, dueAt: retryAt },
    })
  }

  /** When to renew, and when to ask the authority for that again. Its answer is advice: without one, nothing changes. */
  async #renewal(chain: string, usualMs: number): Promise<{ renewAtMs: number; nextMs: number }> {
    const { acme, log, random = Math.random } = this.#deps
    const id = renewalId(chain)
    const without = { renewAtMs: usualMs, nextMs: this.#nowMs() + renewalInfoMs }
    if (!acme || id === null) return without
    try {
      const info = await acme.client.renewalInfo(id)
      if (!info) return without
      const chosen = timeInWindow(info, random())
      const isInside = usualMs >= Date.parse(info.start) && usualMs <= Date.parse(info.end)
      const nextMs = this.#nowMs() + (info.retryAfterMs ?? renewalInfoMs)
      return { renewAtMs: isInside || chosen === null ? usualMs : chosen, nextMs }
    } catch (error) {
      log.info({ err: error }, 'the certificate authority does not say when to renew')
      return without
    }
  }

  #isRenewable({ certificate }: StoredDomain): boolean {
    return !certificate?.renewAt || Date.parse(certificate.renewAt) <= this.#nowMs()
  }

  #hasValid({ certificate }: StoredDomain): boolean {
    return certificate !== null && Date.parse(certificate.notAfter) > this.#nowMs()
  }

  /** Changes the domain as it is now; a certificate that was uploaded meanwhile wins. */
  async #save({ domain, domainId }: StoredDomain, change: Change): Promise<void> {
    if (this.#stopped) return
    await this.#deps.db.write((tx) =>
      changeDomain(tx, domain, (current) => {
        if (current.domainId !== domainId) return current
        const isUploaded = current.certificate?.source === 'uploaded' && change.certificate !== undefined
        return isUploaded ? current : { ...current, ...change }
      }),
    )
  }

  #nowMs(): number {
    return this.#deps.clock.wallMs()
  }

  #now(): string {
    return timestamp(this.#nowMs())
  }

  #at(delayMs: number): string {
    return timestamp(this.#nowMs() + delayMs)
  }
}
