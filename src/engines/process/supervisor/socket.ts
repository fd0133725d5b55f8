import { readFileSync } from 'node:fs'
import net from 'node:net'

/** A connection to the supervisor, or null if it does not listen. */
export function tryConnect(socketPath: string): Promise<net.Socket | null> {
  return new Promise((resolve) => {
    const socket = net.connect(socketPath)
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      resolve(socket)
    })
    socket.once('error', () => resolve(null))
  })
}

/** The end of a log, for the cause of an error. */
export function tail(file: string): string {
  try {
    return readFileSync(file, 'utf8').slice(-1000)
  } catch {
    return ''
  }
}
