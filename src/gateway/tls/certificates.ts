import { createSecureContext, type SecureContext } from 'node:tls'
import type { Certificate } from '../control/protocol.ts'

/** The certificates of this gateway by host name. Connections keep the one with which they began. */
export class Certificates {
  #contexts = new Map<string, SecureContext>()

  get isEmpty(): boolean {
    return this.#contexts.size === 0
  }

  /**
   * Sets the complete list. Returns the problems by the first name: such a certificate keeps its predecessor, and no
   * other one is affected.
   */
  replaceAll(certificates: readonly Certificate[]): { names: readonly string[]; problem: string }[] {
    const problems: { names: readonly string[]; problem: string }[] = []
    const contexts = new Map<string, SecureContext>()
    for (const certificate of certificates) {
      const opened = contextOf(certificate)
      if (typeof opened === 'string') problems.push({ names: certificate.names, problem: opened })
      for (const name of certificate.names) {
        const context = typeof opened === 'string' ? this.#contexts.get(name) : opened
        if (context) contexts.set(name, context)
      }
    }
    this.#contexts = contexts
    return problems
  }

  /** For a host name in lower case; a wildcard stands for one label. */
  find(name: string): SecureContext | undefined {
    return this.#contexts.get(name) ?? this.#contexts.get(`*${name.slice(name.indexOf('.'))}`)
  }
}

/** The context, or why the certificate cannot be used. */
function contextOf({ chain, key }: Certificate): SecureContext | string {
  try {
    return createSecureContext({ cert: chain, key })
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    if (/KEY_VALUES_MISMATCH/.test(code)) return 'the key does not belong to the certificate'
    return 'certificate or key is not valid PEM'
  }
}
