import { isIP } from 'node:net'
import type { Domain } from '../../contract/domains.ts'

type DnsRecord = Domain['dns']['seen'][number]

/** How clients reach an environment without its domain. */
export interface Destination {
  /** A public host name; null: it has none. */
  host: string | null
  addresses: readonly string[]
}

/** The records of which one makes a domain lead here. */
export function expectedRecords(domain: string, { host, addresses }: Destination): DnsRecord[] {
  const named = host === null ? [] : [{ type: 'CNAME', name: domain, value: host }]
  return [...named, ...addresses.map((address) => addressRecord(domain, address))]
}

export function addressRecord(name: string, address: string): DnsRecord {
  return { type: isIP(address) === 6 ? 'AAAA' : 'A', name, value: address }
}

/** Whether clients of the domain arrive here, whichever of its addresses they take. */
export function leadsHere(seen: readonly DnsRecord[], expected: readonly DnsRecord[]): boolean {
  const alias = expected.find(({ type }) => type === 'CNAME')
  if (alias && seen.some(({ type, value }) => type === 'CNAME' && value === alias.value)) return true
  const known = new Set(expected.map(({ value }) => value))
  const addresses = seen.filter(({ type }) => type !== 'CNAME')
  return addresses.length > 0 && addresses.every(({ value }) => known.has(value))
}

/** `host`: that of the environment itself; `addresses`: of this installation, without DNS. */
export function destination(
  host: string | undefined,
  publicUrl: string,
  addresses: readonly string[],
): Destination {
  const named = publicHost(host) ?? publicHost(new URL(publicUrl).hostname)
  return { host: named, addresses: named === null ? addresses : [] }
}

/** A host name that only this machine can resolve is not a destination. */
function publicHost(host: string | undefined): string | null {
  if (host === undefined || isIP(host.replace(/^\[|\]$/g, ''))) return null
  return /(?:^|\.)localhost$/.test(host) || !host.includes('.') ? null : host
}
