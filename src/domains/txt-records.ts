import { execFile } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { promisify } from 'node:util'
import { AcmeError } from '../acme/error.ts'
import { type Clock, sleep } from '../clock.ts'
import type { Secret } from '../log.ts'

const run = promisify(execFile)
const hookMs = 60_000
const visibleWithinMs = 120_000
const lookEveryMs = 2_000

/**
 * TXT records of DNS-01, set by the operator's command: `<hook> present|cleanup <name> <value>`. Several values of one name
 * stay beside each other.
 */
export class TxtRecords {
  readonly #hook: Secret | undefined
  readonly #servers: readonly string[] | undefined
  readonly #clock: Clock
  readonly #set = new Map<string, string[]>()

  constructor(hook: Secret | undefined, servers: readonly string[] | undefined, clock: Clock) {
    this.#hook = hook
    this.#servers = servers
    this.#clock = clock
  }

  /** Resolves when the DNS shows the record. */
  async set(domain: string, value: string): Promise<void> {
    if (!this.#hook) throw new AcmeError('unsupportedChallenge', 'This installation cannot set TXT records.')
    const name = nameOf(domain)
    this.#set.set(domain, [...(this.#set.get(domain) ?? []), value])
    await this.#run('present', name, value)
    await this.#untilVisible(name, value)
  }

  /** Never throws: a record that is left over does no harm. */
  async clear(domain: string): Promise<void> {
    const values = this.#set.get(domain) ?? []
    this.#set.delete(domain)
    for (const value of values) await this.#run('cleanup', nameOf(domain), value).catch(() => {})
  }

  async #run(action: string, name: string, value: string): Promise<void> {
    try {
      await run(this.#hook!.reveal(), [action, name, value], { timeout: hookMs, env: hookEnvironment() })
    } catch (error) {
      const { code, signal } = error as { code?: unknown; signal?: string }
      // Its output may show secrets of the DNS provider.
      const how = signal ? 'took too long' : `ended with ${typeof code === 'number' ? `code ${code}` : code}`
      throw new AcmeError('dnsHook', `The DNS hook ${how} at ${action} ${name}.`)
    }
  }

  async #untilVisible(name: string, value: string): Promise<void> {
    const untilMs = this.#clock.monotonicMs() + visibleWithinMs
    for (;;) {
      const resolver = new Resolver({ timeout: 3_000, tries: 1 })
      if (this.#servers) resolver.setServers(this.#servers)
      const found = await resolver.resolveTxt(name).catch(() => [])
      if (found.some((parts) => parts.join('') === value)) return
      if (this.#clock.monotonicMs() > untilMs) {
        throw new AcmeError('dnsHook', `The TXT record ${name} did not appear in the DNS.`)
      }
      await sleep(this.#clock, lookEveryMs)
    }
  }
}

function nameOf(domain: string): string {
  return `_acme-challenge.${domain.replace(/^\*\./, '')}`
}

/** Without settings of the platform, which hold secrets. */
function hookEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LONGSHORE_')))
}
