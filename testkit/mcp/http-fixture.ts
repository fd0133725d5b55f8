import { Agent, createServer, type IncomingMessage, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeEach } from 'vitest'
import { createLog } from '../../src/log.ts'
import { createMcpHttpHandler, type McpHttpHandler } from '../../src/mcp/transport/http/handler.ts'
import type { McpHttpOptions } from '../../src/mcp/transport/http/options.ts'
import { tools } from '../../tools/index.ts'
import { type FakeBackend, startFakeBackend } from '../fakes/backend.ts'
import { hurriedClock } from './tool-session.ts'

interface Raw {
  status: number
  headers: IncomingMessage['headers']
  body: string
}

export const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
export const rpc = (method: string, params: unknown, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params })

/** The MCP endpoint over HTTP before a fake platform, both new in each test. */
export class HttpFixture {
  url = ''
  server!: Server
  backend!: FakeBackend
  handler!: McpHttpHandler
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })

  constructor() {
    beforeEach(async () => {
      this.backend = await startFakeBackend()
      this.backend.state.add({ name: 'prod' })
      await this.serve({})
    })
    afterEach(async () => {
      await this.stop()
      await this.backend.close()
    })
    afterAll(() => this.#agent.destroy())
  }

  async serve(options: Partial<McpHttpOptions>): Promise<void> {
    this.handler = createMcpHttpHandler({
      registry: tools,
      apiUrl: () => this.backend.url,
      log: createLog('test', 'silent'),
      clock: hurriedClock,
      ...options,
    })
    this.server = createServer(this.handler)
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve))
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/mcp`
  }

  async stop(): Promise<void> {
    this.handler.close()
    this.server.closeAllConnections()
    await new Promise((resolve) => this.server.close(resolve))
  }

  /** A raw request, for cases that a well-behaved client cannot send. */
  raw(options: { method?: string; headers?: Record<string, string>; body?: string | Buffer }): Promise<Raw> {
    return new Promise((resolve, reject) => {
      const req = request(this.url, {
        agent: this.#agent,
        method: options.method ?? 'POST',
        headers: {
          authorization: 'lsu_a',
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...options.headers,
        },
      })
      req.once('error', reject)
      req.once('response', (res) => {
        let body = ''
        res.setEncoding('utf8').on('data', (chunk) => {
          body += chunk
        })
        res.once('end', () => resolve({ status: res.statusCode!, headers: res.headers, body }))
      })
      req.end(options.body ?? JSON.stringify(ping))
    })
  }
}
