import type { SendHandle } from 'node:child_process'
import { Socket } from 'node:net'

/** The part of Node's socket handle that is used here; it has no public type. */
interface Handle {
  readStop(): number
}

/**
 * Stops reading immediately and permanently: later data of the client waits in the kernel for the process that takes
 * the connection. `pause()` is not enough, because it reads on into a buffer that is not passed on. The socket must
 * still consider itself reading, or it would start again.
 */
function stopReading(socket: Socket): void {
  handleOf(socket)?.readStop()
}

interface Listeners {
  data(piece: Buffer): void
  drain(): void
  end(): void
  close(): void
}

/** Listens until the returned function is called, which counts as `close`; errors are followed by one. */
export function listenTo(socket: Socket, listeners: Listeners): () => void {
  const all = Object.entries({ ...listeners, error: () => {} })
  for (const [event, listener] of all) socket.on(event, listener)
  return () => {
    for (const [event, listener] of all) if (event !== 'error') socket.off(event, listener)
    listeners.close()
  }
}

/**
 * A reset frees the buffers of the system. After a normal close, a response without a length would look complete; with
 * TLS the client can tell.
 */
export function resetConnection(socket: Socket): void {
  if (isSendable(socket)) socket.resetAndDestroy()
  else socket.destroy()
}

/** Whether another process can take the connection itself; one with TLS it cannot. */
export function isSendable(socket: Socket): boolean {
  return !('encrypted' in socket)
}

/** Hands a connection to another process. `leave`: called if this process goes on to carry it. */
export function handOffConnection(socket: Socket, handOff: () => void, leave: () => void): void {
  if (!isSendable(socket)) {
    leave()
    handOff()
    return
  }
  stopReading(socket)
  const pass = () => {
    if (!socket.destroyed) handOff()
  }
  // Sends the end of the last response before another process writes.
  if (socket.writableLength === 0) pass()
  else socket.write('', 'latin1', pass)
}

/** The handle to pass to `process.send`; the socket stays open until this process destroys it. Null: already closed. */
export function sendable(socket: Socket): SendHandle | null {
  return handleOf(socket) as unknown as SendHandle | null
}

/** The connection received with a message, configured like those of the listener. */
export function received(handle: unknown): Socket {
  const options = { handle, allowHalfOpen: true, readable: true, writable: true }
  const socket = new Socket(options as unknown as ConstructorParameters<typeof Socket>[0])
  socket.setNoDelay(true)
  return socket
}

function handleOf(socket: Socket): Handle | null {
  return (socket as unknown as { _handle: Handle | null })._handle
}
