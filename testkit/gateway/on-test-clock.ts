import net from 'node:net'
import type { FromGateway, Route } from '../../src/gateway/control/protocol.ts'
import { type EnvironmentNews, ProxyServer } from '../../src/gateway/workers/proxy-server.ts'
import type { TrafficSample } from '../../src/metrics/traffic-sample.ts'
import { TestClock } from '../fakes/clock.ts'
import { until } from '../until.ts'
import { afterwards, listening, rawConnection } from './harness.ts'

/**
 * One gateway process on a clock that the test moves. `connect` resolves with both ends of a client's
 * connection; `heard` has what was reported to the control plane.
 */
export async function gatewayOnTestClock(
  routes: Route[],
  options: { clockScale?: number; mostConnections?: number } = {},
) {
  const clock = new TestClock()
  const heard = {
    desired: [] as [appEnvId: string, containers: number][],
    drained: [] as string[],
    traffic: [] as TrafficSample[],
  }
  const report = (message: FromGateway) => {
    if (message.type === 'desired') heard.desired.push([message.appEnvId, message.containers])
    else if (message.type === 'drained') heard.drained.push(message.container)
    else if (message.type === 'traffic') heard.traffic.push(...message.samples)
  }
  const serving = new ProxyServer({
    clock,
    clockScale: 1,
    linked: () => true,
    report,
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
  const take = (news: EnvironmentNews) => serving.take(news)
  return { clock, connect, heard, port, take }
}
