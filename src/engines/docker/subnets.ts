import { shortHash } from './names.ts'

/**
 * Subnets to try for an account's network, best first. By default, Docker gives each bridge one of about 30 networks of
 * /16 or /20, so the 31st account would get none; /24 of one range give 256 networks of 250 containers. The first try
 * comes from the account, so that several installations on one engine rarely meet.
 */
export function subnetCandidates(accountId: string, taken: readonly string[]): string[] {
  const first = Number.parseInt(shortHash(accountId, 2), 16)
  return Array.from({ length: 256 }, (_, step) => `10.213.${(first + step) % 256}.0/24`).filter(
    (subnet) => !taken.some((other) => overlaps(subnet, other)),
  )
}

function overlaps(one: string, other: string): boolean {
  const [a, b] = [range(one), range(other)]
  return a !== null && b !== null && a.first <= b.last && b.first <= a.last
}

function range(subnet: string): { first: number; last: number } | null {
  const match = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(subnet)
  if (!match) return null
  const [a, b, c, d, bits] = match.slice(1).map(Number) as [number, number, number, number, number]
  const size = 2 ** (32 - bits)
  const address = ((a * 256 + b) * 256 + c) * 256 + d
  const first = Math.floor(address / size) * size
  return { first, last: first + size - 1 }
}
