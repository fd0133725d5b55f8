import type { Socket } from 'node:net'
import { JsonLines, jsonLine } from '../../../json-lines.ts'

/** Calls back for each line of JSON; an invalid or endless line closes the connection. */
export function onJsonLine(socket: Socket, onMessage: (message: unknown) => void): void {
  const lines = new JsonLines<unknown>()
  socket.on('data', (chunk: Buffer) => {
    let messages: unknown[]
    try {
      messages = lines.read(chunk)
    } catch {
      socket.destroy()
      return
    }
    for (const message of messages) onMessage(message)
  })
}

export function sendJsonLine(socket: Socket, message: unknown): void {
  if (socket.writable) socket.write(jsonLine(message))
}
