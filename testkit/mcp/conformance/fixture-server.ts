import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { systemClock } from '../../../src/clock.ts'
import { createLog } from '../../../src/log.ts'
import { createMcpHttpHandler } from '../../../src/mcp/transport/http/handler.ts'
import { createFixtureServer2026 } from './fixture-2026.ts'
import { createFixtureServer } from './fixture-protocol.ts'
import { fixtureTools } from './fixture-tools.ts'

export interface Listening {
  url: string
  close(): Promise<void>
}

async function listen(listener: RequestListener): Promise<Listening & { server: Server }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
}

/**
 * The product's MCP endpoint over the tools of the suite: guards, sessions, transport, adapter and tools are ours,
 * the contract behind them is the suite's. The suite sends no token, so one is put in.
 */
export async function startFixtureServer(): Promise<Listening> {
  const backend = await listen((req, res) => {
    const fails = req.url?.includes('test_error_handling') === true
    res.writeHead(fails ? 400 : 200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(fails ? { error: 'This tool fails on purpose' } : { message: 'A simple text.' }))
  })
  const handler = createMcpHttpHandler({
    registry: fixtureTools,
    apiUrl: () => backend.url,
    log: createLog('test', 'silent'),
    clock: systemClock,
    createServer: createFixtureServer,
    createServer2026: createFixtureServer2026,
  })
  const front = await listen(withToken('lsu_suite', handler))
  return {
    url: `${front.url}/mcp`,
    async close() {
      handler.close()
      await front.close()
      await backend.close()
    },
  }
}

/** Every request as the holder of a token, all else as it came. */
function withToken(token: string, handler: RequestListener): RequestListener {
  return (req, res) => {
    req.headers.authorization = token
    handler(req, res)
  }
}
