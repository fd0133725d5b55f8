import { keyName } from '../../domain/domains/domain.ts'
import type { GatewayLink } from '../../gateway/control/client.ts'
import type { Certificate } from '../../gateway/control/protocol.ts'
import { listChallenges } from '../../store/repositories/challenges.ts'
import { certificatesVersion, listServedDomains } from '../../store/repositories/domains.ts'
import { Worker } from '../../worker.ts'
import type { Platform } from '../platform.ts'
import { watchCertificateFile } from './certificate-file.ts'

const everyMs = 1_000

/**
 * Keeps the gateway of this machine at the certificates and challenges of the installation: those of domains from the
 * store, whichever control plane ordered them, and that of the platform's own names from files.
 */
export class GatewayCertificates {
  readonly #deps: Pick<Platform, 'db' | 'secrets' | 'clock' | 'log'>
  readonly #link: Pick<GatewayLink, 'setCertificates' | 'setChallenges'>
  readonly #worker: Worker
  readonly #files: Worker | null
  /** Null: not read yet. */
  #ofFiles: readonly Certificate[] | null
  #ofDomains: readonly Certificate[] | null = null
  #version = ''
  #challenges = ''

  constructor(platform: Platform, link: Pick<GatewayLink, 'setCertificates' | 'setChallenges'>) {
    const { clock, log, config } = platform
    this.#deps = platform
    this.#link = link
    this.#ofFiles = config.tls ? null : []
    this.#worker = new Worker({
      ...{ clock, everyMs, pass: () => this.refresh() },
      failed: (error) => log.warn({ err: error }, 'certificates cannot be read; retrying'),
    })
    this.#files = config.tls
      ? watchCertificateFile(config.tls, { clock, log }, (certificates) => {
          this.#ofFiles = certificates
          this.#send()
        })
      : null
    this.#worker.start()
    this.#worker.wake()
  }

  /** Sends what has changed since the last time. */
  async refresh(): Promise<void> {
    const { db } = this.#deps
    const { version, challenges } = await db.read(async (tx) => {
      return { version: await certificatesVersion(tx), challenges: await listChallenges(tx) }
    })
    const text = JSON.stringify(challenges)
    if (text !== this.#challenges) this.#link.setChallenges(challenges)
    this.#challenges = text
    if (version === this.#version) return
    this.#ofDomains = await this.#readDomains()
    this.#version = version
    this.#send()
  }

  async stop(): Promise<void> {
    await Promise.all([this.#worker.stop(), this.#files?.stop()])
  }

  /** One that cannot be opened does not keep the others from being served. */
  async #readDomains(): Promise<Certificate[]> {
    const { db, secrets, log } = this.#deps
    const domains = await db.read(listServedDomains)
    return domains.flatMap(({ domainId, domain, certificate }) => {
      if (!certificate) return []
      try {
        const key = secrets.open(certificate.key, keyName(domainId))
        // For this name alone, whatever else the certificate is valid for.
        return [{ names: [domain], chain: certificate.chain, key }]
      } catch (error) {
        log.error(
          { err: error, domain },
          'the private key of a domain cannot be opened; it is served without',
        )
        return []
      }
    })
  }

  #send(): void {
    if (this.#ofFiles === null || this.#ofDomains === null) return
    this.#link.setCertificates([...this.#ofFiles, ...this.#ofDomains])
  }
}
