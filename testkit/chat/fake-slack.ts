import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'

type Json = Record<string, unknown>

interface FakeMessage {
  ts: string
  channel: string
  text: string
  threadTs: string | null
  /** Every text that it has shown, the present one last. */
  history: string[]
  buttons: { action_id: string; value: string }[]
}

/**
 * A workspace with the parts of Slack that an app uses: its Web API over HTTP, Socket Mode over WebSocket, addresses for
 * later answers, and people who send commands and click.
 */
export class FakeSlack {
  readonly appToken = 'xapp-1-fake'
  readonly botToken = 'xoxb-fake'
  readonly messages: FakeMessage[] = []
  /** Answers that came to the addresses of requests, by the id of the request. */
  readonly responses = new Map<string, Json[]>()
  readonly views: Json[] = []
  /** No call is answered. */
  away = false
  /** So many calls are answered 429. */
  limited = 0
  retryAfterSeconds = 1
  /** Calls of the Web API, by method. */
  readonly calls: string[] = []
  readonly #sockets = new Set<WebSocket>()
  readonly #acks = new Map<string, () => void>()
  #ids = 0
  readonly #server: Server
  readonly #webSockets: WebSocketServer

  private constructor(server: Server) {
    this.#server = server
    this.#webSockets = new WebSocketServer({ server, path: '/socket' })
    this.#webSockets.on('connection', (socket) => this.#connected(socket))
  }

  static async start(): Promise<FakeSlack> {
    const server = createServer((request, response) => void fake.#answer(request, response))
    const fake = new FakeSlack(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return fake
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get apiUrl(): string {
    return `${this.url}/api`
  }

  get openSockets(): number {
    return this.#sockets.size
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate()
    this.#webSockets.close()
    this.#server.closeAllConnections()
    this.#server.close()
  }

  /** What a person's words send: the form of a command, with the id under which its answers are found. */
  command(user: string, text: string, more: Json = {}): { id: string; form: Record<string, string> } {
    const id = this.#nextId()
    const form = {
      ...{ token: 'legacy', team_id: 'T1', team_domain: 'team', channel_id: 'C1', user_id: user },
      ...{ user_name: `name of ${user}`, command: '/longshore', text, api_app_id: 'A1' },
      ...{ response_url: `${this.url}/response/${id}`, trigger_id: `trigger.${id}` },
      ...more,
    }
    return { id, form: form as Record<string, string> }
  }

  /** What a click sends. */
  click(
    user: string,
    action: { action_id: string; value: string },
    more: Json = {},
  ): { id: string; payload: Json } {
    const id = this.#nextId()
    const payload = {
      ...{ type: 'block_actions', team: { id: 'T1' }, user: { id: user, name: `name of ${user}` } },
      ...{ channel: { id: 'C1' }, trigger_id: `trigger.${id}`, api_app_id: 'A1' },
      response_url: `${this.url}/response/${id}`,
      actions: [{ ...action, type: 'button', block_id: 'b', action_ts: `${id}.0` }],
      ...more,
    }
    return { id, payload }
  }

  /** What the form of a view sends that the app opened. */
  submission(user: string, view: Json, text: string): { payload: Json } {
    const id = this.#nextId()
    const state = { values: { text: { text: { type: 'plain_text_input', value: text } } } }
    return {
      payload: {
        ...{ type: 'view_submission', team: { id: 'T1' }, user: { id: user, name: `name of ${user}` } },
        ...{ trigger_id: `trigger.${id}`, api_app_id: 'A1' },
        view: { ...view, id: `V${id}`, hash: id, state },
      },
    }
  }

  /** Sends a request over an open socket; resolves when the app has acknowledged it. */
  async deliver(type: 'slash_commands' | 'interactive', payload: Json): Promise<void> {
    const [socket] = this.#sockets
    if (!socket) throw new Error('the app has no socket open')
    const envelopeId = `envelope-${this.#nextId()}`
    const acked = new Promise<void>((resolve) => this.#acks.set(envelopeId, resolve))
    socket.send(JSON.stringify({ type, envelope_id: envelopeId, payload, accepts_response_payload: true }))
    await acked
  }

  /** Ends every socket, as Slack does now and then. */
  dropSockets(): void {
    for (const socket of this.#sockets) socket.terminate()
  }

  #nextId(): string {
    this.#ids += 1
    return String(this.#ids)
  }

  #connected(socket: WebSocket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('message', (data) => {
      const { envelope_id: envelopeId } = JSON.parse(String(data)) as { envelope_id: string }
      this.#acks.get(envelopeId)?.()
    })
    socket.send(
      JSON.stringify({
        type: 'hello',
        num_connections: 1,
        connection_info: { app_id: 'A1' },
        debug_info: {},
      }),
    )
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const text = Buffer.concat(chunks).toString()
    const [, kind, name = ''] = (request.url ?? '').split('/')
    if (this.away) return void request.socket.destroy()
    if (this.limited > 0) {
      this.limited -= 1
      response.writeHead(429, { 'retry-after': String(this.retryAfterSeconds) }).end()
      return
    }
    if (kind === 'response') {
      this.responses.set(name, [...(this.responses.get(name) ?? []), JSON.parse(text)])
      response.end('ok')
      return
    }
    const isJson = request.headers['content-type']?.startsWith('application/json')
    const body = isJson ? (JSON.parse(text || '{}') as Json) : Object.fromEntries(new URLSearchParams(text))
    const token = request.headers.authorization?.replace('Bearer ', '') ?? String(body.token)
    this.calls.push(name)
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(this.#call(name, token, body)))
  }

  #call(method: string, token: string, body: Json): Json {
    const isApp = method === 'apps.connections.open'
    if (token !== (isApp ? this.appToken : this.botToken)) return { ok: false, error: 'invalid_auth' }
    switch (method) {
      case 'apps.connections.open':
        return { ok: true, url: `${this.url.replace('http', 'ws')}/socket` }
      case 'auth.test':
        return { ok: true, team_id: 'T1', user_id: 'UBOT', bot_id: 'B1' }
      case 'views.open':
        this.views.push(body.view as Json)
        return { ok: true, view: { id: `V${this.views.length}` } }
      case 'chat.postMessage':
        return this.#posted(body)
      case 'chat.update':
        return this.#updated(body)
      default:
        return { ok: false, error: 'unknown_method' }
    }
  }

  #posted(body: Json): Json {
    const ts = `1700000000.${this.#nextId().padStart(6, '0')}`
    const channel = String(body.channel)
    const text = String(body.text)
    const threadTs = (body.thread_ts as string | undefined) ?? null
    this.messages.push({ ts, channel, text, threadTs, history: [text], buttons: buttonsOf(body) })
    return { ok: true, channel, ts }
  }

  #updated(body: Json): Json {
    const message = this.messages.find(({ ts, channel }) => ts === body.ts && channel === body.channel)
    if (!message) return { ok: false, error: 'message_not_found' }
    message.text = String(body.text)
    message.history.push(message.text)
    message.buttons = buttonsOf(body)
    return { ok: true, channel: message.channel, ts: message.ts }
  }
}

/** The buttons of a message or an answer. */
export function buttonsOf(body: Json): { action_id: string; value: string }[] {
  const blocks = (body.blocks ?? []) as { elements?: { action_id: string; value: string }[] }[]
  return blocks.flatMap(({ elements = [] }) => elements).map(({ action_id, value }) => ({ action_id, value }))
}
