import { createSecureContext, type SecureContext } from 'node:tls'
import type { Certificate } from '../control/protocol.ts'

interface Entry {
  certificate: Certificate
  context: SecureContext
}

interface Problem {
  names: readonly string[]
  problem: string
}

/** The certificates of this gateway by host name. Connections keep the one with which they began. */
export class Certificates {
  #entries = new Map<string, Entry>()
  readonly #report: (problem: Problem) => void

  constructor(report: (problem: Problem) => void) {
    this.#report = report
  }

  get isEmpty(): boolean {
    return this.#entries.size === 0
  }

  /**
   * Sets the complete list. A certificate that cannot be used is reported and keeps its predecessor, and no other one is
   * affected; those that stay are not read again.
   */
  replaceAll(certificates: readonly Certificate[]): void {
    const entries = new Map<string, Entry>()
    for (const certificate of certificates) {
      const { names } = certificate
      const known = names.map((name) => this.#entries.get(name))
      const [first] = known
      const opened = first && isSame(first.certificate, certificate) ? first : open(certificate)
      if (typeof opened === 'string') this.#report({ names, problem: opened })
      for (const [index, name] of names.entries()) {
        const entry = typeof opened === 'string' ? known[index] : opened
        if (entry) entries.set(name, entry)
      }
    }
    this.#entries = entries
  }

  /** For a host name in lower case; a wildcard stands for one label. */
  find(name: string): SecureContext | undefined {
    const entry = this.#entries.get(name) ?? this.#entries.get(`*${name.slice(name.indexOf('.'))}`)
    return entry?.context
  }
}

function isSame(one: Certificate, other: Certificate): boolean {
  return one.chain === other.chain && one.key === other.key
}

/** The entry, or why the certificate cannot be used. */
function open(certificate: Certificate): Entry | string {
  try {
    const { chain, key } = certificate
    return { certificate, context: createSecureContext({ cert: chain, key }) }
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (/KEY_VALUES_MISMATCH/.test(code)) return 'the key does not belong to the certificate'
    return 'certificate or key is not valid PEM'
  }
}
