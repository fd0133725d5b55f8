import { chmod, rm } from 'node:fs/promises'
import type { Server } from 'node:http'
import { createServer, type Server as NetServer } from 'node:net'

/** Serves `server` on a Unix socket too, which only its owner can open. */
export async function openSocket(server: Server, socketPath: string): Promise<NetServer> {
  // Of a server that was killed; the lock of the data directory allows one at a time.
  await rm(socketPath, { force: true })
  const socket = createServer((connection) => void server.emit('connection', connection))
  // The umask makes it private from the start; chmod alone would leave a gap.
  const before = process.umask(0o177)
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.listen(socketPath, () => resolve())
    })
  } finally {
    process.umask(before)
  }
  await chmod(socketPath, 0o600)
  return socket
}
