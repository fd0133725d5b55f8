import { BlockList, isIP } from 'node:net'
import { metadataRanges } from '../../domain/environments/metadata-ranges.ts'

const refused4 = new BlockList()
for (const range of metadataRanges) {
  const [network = '', prefix] = range.split('/')
  refused4.addSubnet(network, Number(prefix), 'ipv4')
}
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  refused4.addSubnet(network, prefix, 'ipv4')
}

/** Global unicast ranges that are not ordinary networks: tunnels to IPv4, documentation, benchmarks. */
const refused6 = new BlockList()
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  refused6.addSubnet(network, prefix, 'ipv6')
}
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

/**
 * Whether an address is public (docs/interface.md#outbound-requests). Private, loopback, link-local (with cloud
 * metadata), shared, multicast, reserved and documentation addresses are not, in any notation: an IPv6 address that
 * embeds an IPv4 one (mapped, NAT64) counts as that one.
 */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !refused4.check(address, 'ipv4')
  if (family !== 6) return false
  const bytes = bytesOf(address)
  const wrapped = bytes && wrappedIpv4(bytes)
  if (wrapped) return !refused4.check(wrapped, 'ipv4')
  const plain = address.replace(/%.*$/, '')
  return global6.check(plain, 'ipv6') && !refused6.check(plain, 'ipv6')
}

/** The IPv4 address in `::ffff:0:0/96` or the NAT64 prefix `64:ff9b::/96`. */
function wrappedIpv4(bytes: readonly number[]): string | null {
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
  const isNat64 =
    [0x00, 0x64, 0xff, 0x9b].every((byte, index) => bytes[index] === byte) &&
    bytes.slice(4, 12).every((byte) => byte === 0)
  return isMapped || isNat64 ? bytes.slice(12).join('.') : null
}

function bytesOf(address: string): number[] | null {
  const plain = address.replace(/%.*$/, '')
  const dotted = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(plain)
  const text = dotted
    ? `${dotted[1]}${hex(Number(dotted[2]) * 256 + Number(dotted[3]))}:${hex(Number(dotted[4]) * 256 + Number(dotted[5]))}`
    : plain
  const [head = '', tail] = text.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length
  const groups = [...left, ...Array<string>(Math.max(0, zeros)).fill('0'), ...right]
  if (groups.length !== 8) return null
  return groups.flatMap((group) => {
    const value = Number.parseInt(group, 16)
    return [value >> 8, value & 255]
  })
}

function hex(value: number): string {
  return value.toString(16)
}
