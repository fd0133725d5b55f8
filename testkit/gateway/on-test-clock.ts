import net from 'node:net'
import type { Route } from '../../src/gateway/control/protocol.ts'
import { ProxyServer } from '../../src/gateway/workers/proxy-server.ts'
import { TestClock } from '../fakes/clock.ts'
import { until } from '../until.ts'
import { afterwards, listening, rawConnection } from './harness.ts'

/** One gateway process on a clock that the test moves. `connect` resolves with both ends of a client's connection. */
export async function gatewayOnTestClock(routes: Route[], options: { mostConnections?: number } = {}) {
  const clock = new TestClock()
  const serving = new ProxyServer({
    clock,
    clockScale: 1,
    linked: () => true,
    report: () => {},
    ...options,
  })
  serving.take({ type: 'routes', routes })
  serving.startTimers()
  const accepted: net.Socket[] = []
  const server = net.createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    accepted.push(socket)
    serving.accept(socket)
  })
  const port = await listening(server)
  afterwards(() => {
    serving.stop()
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  const connect = async () => {
    const before = accepted.length
    const client = rawConnection(port)
    await until(() => accepted.length > before, 'connected')
    return { client, accepted: accepted[before]! }
  }
  return { clock, connect }
}
