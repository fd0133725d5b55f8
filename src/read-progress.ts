import type { Socket } from 'node:net'

/** Whether the peer of a connection reads what is written to it. */
export class ReadProgress {
  #taken = -1
  #sinceMs = 0

  /** How long the peer has not read although bytes wait for it; 0 if none wait. Precise to the interval of the calls. */
  stalledMs(socket: Socket, nowMs: number): number {
    if (socket.writableLength === 0) return 0
    const taken = takenBySystem(socket)
    if (taken !== this.#taken) {
      this.#taken = taken
      this.#sinceMs = nowMs
    }
    return nowMs - this.#sinceMs
  }
}

/**
 * Written bytes that the system has taken, including parts of a piece. `bytesWritten` of the socket does not work here: it
 * also counts waiting bytes, so a program that keeps writing would look like a peer that reads.
 */
function takenBySystem(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: SystemHandle | null }
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}

/** The part of Node's socket handle that is used here; it has no public type. */
interface SystemHandle {
  readonly bytesWritten: number
  readonly writeQueueSize: number
}
