import type { Socket } from 'node:net'

/** Calls back for each line of JSON; an invalid line closes the connection. */
export function onJsonLine(socket: Socket, onMessage: (message: unknown) => void): void {
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop()!
    for (const line of lines) {
      let message: unknown
      try {
        message = JSON.parse(line)
      } catch {
        socket.destroy()
        return
      }
      onMessage(message)
    }
  })
}

export function sendJsonLine(socket: Socket, message: unknown): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`)
}
