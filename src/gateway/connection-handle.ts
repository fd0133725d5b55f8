import type { SendHandle } from 'node:child_process'
import { Socket } from 'node:net'

/** The part of Node's socket handle that is needed here; it has no public name. */
interface Handle {
  readStop(): number
}

/**
 * Stops reading at once and for good: what the client sends from now on waits in the kernel for the process that
 * gets the connection. `pause()` would not do: it reads on into memory that is not passed on. The socket goes on
 * believing that it reads, or it would begin again.
 */
export function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop()
}

/** What `process.send` takes; the socket stays open until it is destroyed here. Null: it is gone. */
export function sendable(socket: Socket): SendHandle | null {
  return handleOf(socket) as unknown as SendHandle | null
}

/** The connection that came with a message, set up as the listener sets up its own. */
export function received(handle: unknown): Socket {
  const options = { handle, allowHalfOpen: true, readable: true, writable: true }
  const socket = new Socket(options as unknown as ConstructorParameters<typeof Socket>[0])
  socket.setNoDelay(true)
  return socket
}

function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as { _handle: Handle | null })._handle
}
