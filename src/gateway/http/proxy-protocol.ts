import { type Socket, SocketAddress } from 'node:net'
import type { Clock } from '../../clock.ts'
import { plainAddress, type TrustedProxies } from '../../trusted-proxies.ts'

const waitMs = 10_000
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const fixedBytes = 16
/** Addresses and further fields; the specification asks for at least 520, and ours fits in a packet. */
const mostBytes = 4_096

interface Arrived {
  /** The client; null: the connection is of the proxy itself, such as a health check. */
  address: string | null
  /** What came after the header. */
  rest: Buffer
}

/** The addresses of clients whose proxies name them in the PROXY protocol, and of all others. */
export class ClientAddresses {
  readonly #clock: Clock
  /** Null: no proxy speaks the protocol. */
  readonly #proxies: TrustedProxies | null
  readonly #known = new Map<string, string>()

  constructor(clock: Clock, proxies: TrustedProxies | null) {
    this.#clock = clock
    this.#proxies = proxies
  }

  /** Calls `next` once the address is known, with what came after the header of a proxy; null without a header. */
  arrive(socket: Socket, next: (rest: Buffer | null) => void): void {
    if (this.#proxies?.has(plainAddress(socket.remoteAddress)) !== true) {
      next(null)
      return
    }
    readProxyHeader(socket, this.#clock, ({ address, rest }) => {
      const key = keyOf(socket)
      if (address !== null) this.#known.set(key, address)
      socket.once('close', () => this.#known.delete(key))
      next(rest)
    })
  }

  /** Of a connection or of TLS on it. */
  of(socket: Socket): string {
    const known = this.#known.size > 0 ? this.#known.get(keyOf(socket)) : undefined
    return known ?? plainAddress(socket.remoteAddress)
  }
}

function keyOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}

/**
 * Reads the header of version 2 of the PROXY protocol, with which a connection of a trusted proxy begins. Without one, or
 * with a malformed one, the connection is closed.
 */
function readProxyHeader(socket: Socket, clock: Clock, done: (arrived: Arrived) => void): void {
  let data: Buffer = Buffer.alloc(0)
  const refuse = () => socket.destroy()
  const cancel = clock.after(waitMs, refuse)
  const read = (piece: Buffer) => {
    data = data.length === 0 ? piece : Buffer.concat([data, piece])
    const arrived = parse(data)
    if (arrived === 'more') return
    cancel()
    socket.off('data', read).off('close', cancel).off('end', refuse)
    socket.pause()
    if (arrived === 'malformed') refuse()
    else done(arrived)
  }
  socket.on('data', read).once('close', cancel).once('end', refuse)
  socket.on('error', refuse)
}

function parse(data: Buffer): Arrived | 'more' | 'malformed' {
  const begins = data.subarray(0, signature.length)
  if (!signature.subarray(0, begins.length).equals(begins)) return 'malformed'
  if (data.length < fixedBytes) return 'more'
  const [command, family, length] = [data[12]!, data[13]!, data.readUInt16BE(14)]
  if (command >> 4 !== 2 || (command & 15) > 1 || length > mostBytes) return 'malformed'
  const end = fixedBytes + length
  if (data.length < end) return 'more'
  const rest = data.subarray(end)
  if ((command & 15) === 0) return { address: null, rest }
  const addresses = data.subarray(fixedBytes, end)
  // TCP over IPv4 or IPv6; anything else names no client.
  if (family === 0x11 && length >= 12) return { address: [...addresses.subarray(0, 4)].join('.'), rest }
  if (family === 0x21 && length >= 36) return { address: ipv6(addresses.subarray(0, 16)), rest }
  return { address: null, rest }
}

/** In the form that Node gives to addresses. */
function ipv6(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16))
  return new SocketAddress({ address: groups.join(':'), family: 'ipv6' }).address
}
