import type { Socket } from 'node:net'
import type { Clock } from '../../clock.ts'

const waitMs = 10_000
/** A record has at most 16 KiB. */
const longestHello = 5 + 16_384
const handshakeRecord = 22
const alpnExtension = 16

/** Calls `done` with the first record of a connection, which `socket` gives again to its next reader. */
export function readHello(socket: Socket, clock: Clock, done: (hello: Buffer) => void): void {
  const cancel = clock.after(waitMs, () => socket.destroy())
  const read = () => {
    const data = socket.read() as Buffer | null
    if (data === null) return
    socket.unshift(data)
    const needed = data.length < 5 ? 5 : Math.min(longestHello, 5 + data.readUInt16BE(3))
    if (data.length < needed && data[0] === handshakeRecord) return
    socket.off('readable', read)
    done(data)
  }
  socket.on('readable', read)
  socket.once('close', cancel)
  socket.once('error', () => socket.destroy())
}

/** Whether it offers the protocol of TLS-ALPN-01 alone (RFC 8737). */
export function asksForChallenge(hello: Buffer): boolean {
  return protocolsOf(hello) === 'acme-tls/1'
}

/** The protocols of the ALPN extension, separated by commas; empty if there are none. */
function protocolsOf(hello: Buffer): string {
  try {
    // Record header, type and length of the handshake message, version and random.
    let at = 5 + 4 + 2 + 32
    at += 1 + hello.readUInt8(at)
    at += 2 + hello.readUInt16BE(at)
    at += 1 + hello.readUInt8(at)
    const end = at + 2 + hello.readUInt16BE(at)
    at += 2
    while (at < end) {
      const [type, length] = [hello.readUInt16BE(at), hello.readUInt16BE(at + 2)]
      at += 4
      if (type === alpnExtension) return listOf(hello.subarray(at + 2, at + length))
      at += length
    }
  } catch {
    // Not a complete hello.
  }
  return ''
}

function listOf(data: Buffer): string {
  const names: string[] = []
  for (let at = 0; at < data.length; at += 1 + data.readUInt8(at)) {
    names.push(data.toString('latin1', at + 1, at + 1 + data.readUInt8(at)))
  }
  return names.join(',')
}
