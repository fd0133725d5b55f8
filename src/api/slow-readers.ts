import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** What the system has taken over of what was written. */
interface Progress {
  bytes: number
  sinceMs: number
}

/**
 * Closes connections whose client reads nothing of a response for `patienceMs`: it is held in memory until then, and a caller
 * may have thousands.
 */
export function endSlowReaders(server: Server, patienceMs: number): void {
  const unread = new Map<Socket, Progress>()
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => {
      open.delete(socket)
      unread.delete(socket)
    })
  })
  const check = () => {
    for (const socket of open) {
      const bytes = takenOver(socket)
      const before = unread.get(socket)
      if (socket.writableLength === 0) unread.delete(socket)
      else if (before?.bytes !== bytes) unread.set(socket, { bytes, sinceMs: performance.now() })
      else if (performance.now() - before.sinceMs >= patienceMs) socket.destroy()
    }
  }
  const timer = setInterval(check, patienceMs / 4)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}

/** Also of the piece that is being written, which counts as unwritten until its last byte. */
function takenOver(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: { writeQueueSize?: number } }
  return socket.bytesWritten - (handle?.writeQueueSize ?? 0)
}
