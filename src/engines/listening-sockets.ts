/** A TCP socket in state LISTEN, with the address the program bound it to. */
export interface ListeningSocket {
  /** IPv4 dotted, IPv6 compressed; `0.0.0.0` and `::` are all interfaces. An IPv4-mapped address is given as IPv4. */
  address: string
  port: number
}

/** As the kernel writes them in /proc/net/tcp. */
export const tcpStates = { established: '01', synSent: '02', listen: '0A' }

/** The listening sockets in the text of /proc/net/tcp or tcp6, by inode. */
export function parseListening(text: string): Map<string, ListeningSocket> {
  const sockets = new Map<string, ListeningSocket>()
  for (const line of text.split('\n').slice(1)) {
    const fields = line.trim().split(/\s+/)
    if (fields[3] !== tcpStates.listen) continue
    const [address = '', port = ''] = fields[1]!.split(':')
    sockets.set(fields[9]!, { address: addressOf(address), port: Number.parseInt(port, 16) })
  }
  return sockets
}

/** Bound to all interfaces, so reachable at any address of its machine or container. */
export function isWildcard(address: string): boolean {
  return address === '::' || address === '0.0.0.0'
}

/** `127.0.0.1:3000`, `[::1]:3000`. */
export function socketText({ address, port }: ListeningSocket): string {
  return address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
}

/**
 * The kernel prints 32-bit words in the machine's byte order, which is little-endian wherever Node runs containers.
 */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex').reverse()])
  if (bytes.length === 4) return bytes.join('.')
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  if (isMapped) return bytes.slice(12).join('.')
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((bytes[at * 2]! << 8) | bytes[at * 2 + 1]!).toString(16),
  )
  return new URL(`http://[${groups.join(':')}]/`).hostname.slice(1, -1)
}
