import { Resolver } from 'node:dns/promises'
import type { Domain } from '../contract/domains.ts'
import { addressRecord } from '../domain/domains/dns.ts'

type DnsRecord = Domain['dns']['seen'][number]

interface Found {
  records: DnsRecord[]
  /** Why the DNS did not answer; null: it did. */
  problem: string | null
}

export type Lookup = (name: string) => Promise<Found>

const timeoutMs = 3_000
const mostAliases = 5
/** The DNS answered that there is no such record. */
const absent = new Set(['ENODATA', 'ENOTFOUND'])

/** Reads the addresses of a name with the aliases on the way. `servers`: default those of the machine. */
export function createLookup(servers: readonly string[] | undefined): Lookup {
  return async (name) => {
    const resolver = new Resolver({ timeout: timeoutMs, tries: 2 })
    if (servers) resolver.setServers(servers)
    let problem: string | null = null
    const read = async (query: Promise<string[]>): Promise<string[]> => {
      try {
        return await query
      } catch (error) {
        const { code = 'ERROR' } = error as NodeJS.ErrnoException
        if (!absent.has(code)) problem = `The DNS of ${name} cannot be read (${code}).`
        return []
      }
    }
    const aliases: DnsRecord[] = []
    for (let at = name; aliases.length < mostAliases; ) {
      const [value] = await read(resolver.resolveCname(at))
      if (value === undefined) break
      aliases.push({ type: 'CNAME', name: at, value: value.toLowerCase().replace(/\.$/, '') })
      at = aliases.at(-1)!.value
    }
    const [v4, v6] = await Promise.all([read(resolver.resolve4(name)), read(resolver.resolve6(name))])
    const addresses = [...v4, ...v6].map((address) => addressRecord(name, address))
    return { records: [...aliases, ...addresses], problem: addresses.length > 0 ? null : problem }
  }
}
