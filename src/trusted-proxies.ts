import { BlockList, isIP } from 'node:net'

/** The peers whose word about the client is believed. */
export class TrustedProxies {
  readonly #list = new BlockList()
  readonly isEmpty: boolean

  /** Addresses, CIDRs, and `loopback`. Call `trustedProxyProblem` for each before. */
  constructor(entries: readonly string[] = []) {
    this.isEmpty = entries.length === 0
    for (const entry of entries.flatMap((one) => (one === 'loopback' ? ['127.0.0.0/8', '::1'] : [one]))) {
      const [address = '', prefix] = entry.split('/')
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
      if (prefix === undefined) this.#list.addAddress(address, family)
      else this.#list.addSubnet(address, Number(prefix), family)
    }
  }

  has(address: string): boolean {
    if (this.isEmpty) return false
    const family = isIP(address)
    return family !== 0 && this.#list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }

  /** The last address of `chain` that is not a trusted proxy; `chain` ends with the peer. */
  clientOf(chain: readonly string[]): string {
    let index = chain.length - 1
    while (index > 0 && this.has(chain[index]!) && isIP(chain[index - 1]!) !== 0) index--
    return chain[index] ?? ''
  }
}

/** Whether an entry of the list is an address, a CIDR or `loopback`. */
export function isTrustedProxy(entry: string): boolean {
  if (entry === 'loopback') return true
  const [address = '', prefix, more] = entry.split('/')
  const family = isIP(address)
  if (family === 0 || more !== undefined) return false
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32))
}

/** An address as clients have it: without the form that IPv4 has on an IPv6 socket. */
export function plainAddress(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:(?=\d+\.)/, '')
}
