import { connect, createServer, type Server, type Socket } from 'node:net'
import type { Clock } from '../../clock.ts'
import type { Route } from '../control/protocol.ts'
import { ProxyServer } from './proxy-server.ts'

/** Enough to compile the code paths of a request; about 50 ms of one core. */
const connections = 20
const requestsEach = 25

/**
 * Serves synthetic requests with a separate server on temporary ports, so that the request path is compiled before
 * the first burst, whose last responses would otherwise take 50 ms. Real requests run in between. Never fails:
 * without it the first requests are only slower.
 */
export async function warmUp(clock: Clock): Promise<void> {
  const serving = new ProxyServer({ clock, clockScale: 1, linked: () => false, report: () => {} })
  const upstream = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'))
  })
  const front = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => serving.accept(socket))
  try {
    const upstreamPort = await listen(upstream)
    serving.take({ type: 'route', route: routeOf('warm', 'serving', upstreamPort) })
    serving.take({ type: 'route', route: routeOf('refusing', 'stopped', upstreamPort) })
    const port = await listen(front)
    const hosts = ['warm.fn.localhost', 'refusing.fn.localhost']
    const clients = Array.from({ length: connections }, (_, index) => ask(port, hosts[index % 2]!))
    await Promise.all(clients)
  } catch {
    // The warm-up is optional.
  } finally {
    serving.drain(0)
    serving.stop()
    front.close()
    upstream.close()
  }
}

function routeOf(envName: string, state: Route['state'], port: number): Route {
  const scaling = {
    containerConcurrency: connections,
    timeoutSeconds: 10,
    responseStartTimeoutSeconds: 10,
    idleTimeoutSeconds: 60,
    minScale: 0,
    maxScale: 1,
  }
  const containers = [{ name: envName, host: '127.0.0.1', port, draining: false }]
  return { appEnvId: envName, envName, kind: 'function', state, containers, scaling }
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
}

/** A client that sends its requests sequentially. */
function ask(port: number, host: string): Promise<void> {
  return new Promise((resolve) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let left = requestsEach
    const next = () => {
      if (left-- > 0) socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nAccept: */*\r\n\r\n`)
      else socket.destroy()
    }
    socket.on('connect', next)
    socket.on('data', next)
    socket.on('error', () => {})
    socket.on('close', () => resolve())
  })
}
