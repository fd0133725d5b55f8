import net from 'node:net'

/**
 * Below the ports that the kernel picks for listeners and outgoing connections, and below those that the process engine
 * gives to containers. Each worker of the test runner has a range of its own, so a port stays free until it is used.
 */
const portsOfWorker = 900
const firstPort = 2_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 8) * portsOfWorker
/** Ports that `fetch` and browsers refuse to connect to, whatever listens there. */
const blocked = new Set([
  2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697,
])
let next = Math.floor(Math.random() * portsOfWorker)

/** A port for a listener that a test starts later, or stops and starts again. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < portsOfWorker; tries += 1) {
    const port = firstPort + (next++ % portsOfWorker)
    if (!blocked.has(port) && (await isFree(port))) return port
  }
  throw new Error(`no port from ${firstPort} on is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = net.createServer().once('error', () => resolve(false))
    server.listen({ port, host: '0.0.0.0', exclusive: true }, () => server.close(() => resolve(true)))
  })
}
