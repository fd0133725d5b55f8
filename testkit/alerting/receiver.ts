import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Received {
  method: string
  path: string
  headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape it reads
  body: any
}

/** How a receiver answers one request: a status, or a failure. */
type Answer = { status: number; headers?: Record<string, string>; body?: string } | 'hang' | 'reset'

/** A real HTTP server that keeps all requests, and separately those that it accepted with 2xx. */
export class Receiver {
  readonly accepted: Received[] = []
  readonly sent: Received[] = []
  answer: (received: Received) => Answer | Promise<Answer> = () => ({ status: 200 })
  readonly #server: Server

  private constructor() {
    this.#server = createServer(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += chunk
      const received: Received = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        body: text === '' ? null : JSON.parse(text),
      }
      this.sent.push(received)
      const answer = await this.answer(received)
      if (answer === 'hang') return
      if (answer === 'reset') {
        request.socket.resetAndDestroy()
        return
      }
      if (answer.status >= 200 && answer.status < 300) this.accepted.push(received)
      response.writeHead(answer.status, answer.headers).end(answer.body ?? 'ok')
    })
  }

  static async start(): Promise<Receiver> {
    const receiver = new Receiver()
    await new Promise<void>((resolve) => receiver.#server.listen(0, '127.0.0.1', resolve))
    return receiver
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  url(path = '/'): string {
    return `http://127.0.0.1:${this.port}${path}`
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }
}
