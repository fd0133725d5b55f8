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

function addressRecord(name: string, address: string): DnsRecord {
  return { type: isIP(address) === 6 ? 'AAAA' : 'A', name, value: address }
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
