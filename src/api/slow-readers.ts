import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { ReadProgress } from '../read-progress.ts'

/**
 * Closes connections whose client reads nothing of a response for `patienceMs`: it is held in memory until then, and a caller
 * may have thousands.
 */
export function endSlowReaders(server: Server, patienceMs: number): void {
  const open = new Map<Socket, ReadProgress>()
  server.on('connection', (socket: Socket) => {
    open.set(socket, new ReadProgress())
    socket.once('close', () => open.delete(socket))
  })
  const check = () => {
    const nowMs = performance.now()
    for (const [socket, progress] of open) {
      if (progress.stalledMs(socket, nowMs) >= patienceMs) socket.destroy()
    }
  }
  const timer = setInterval(check, patienceMs / 4)
  timer.unref()
  server.once('close', () => clearInterval(timer))
}
