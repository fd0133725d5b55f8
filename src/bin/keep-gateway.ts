import { availableParallelism } from 'node:os'
import { every } from '../clock.ts'
import { connectGateway, type GatewayLink } from '../gateway/gateway-client.ts'
import { ensureGateway } from '../gateway/spawn-gateway.ts'
import type { Platform } from '../platform.ts'
import type { Reconciler } from '../reconciler/reconciler.ts'
import { buildId, commandLine } from './build-id.ts'
import type { Measuring } from './measuring.ts'

const gatewayCheckMs = 1_000

/** The gateway process of this home, kept alive, and the link to it. */
export interface GatewayKeeper {
  link: GatewayLink
  port(): number
  /** Where this machine reaches it. */
  address(): { host: string; port: number }
  url(): string
  close(): void
}

/** Adopts or starts the gateway, and starts another one when it is gone. */
export async function keepGateway(
  platform: Platform,
  measuring: Measuring,
  reconciler: () => Reconciler | null,
): Promise<GatewayKeeper> {
  const { config, home, log, clock } = platform
  const options = {
    entry: [...commandLine, 'gateway'],
    home: home.dir,
    socketPath: home.gatewaySocket,
    host: config.host,
    clockScale: config.clockScale,
    processes: config.gatewayProcesses ?? processesFor(availableParallelism()),
    build: buildId,
    log,
    clock,
  }
  const first = await ensureGateway({ ...options, port: config.gatewayPort })
  const link = connectGateway({
    socketPath: home.gatewaySocket,
    build: buildId,
    clock,
    log,
    on: {
      desired: (appEnvId, containers) => {
        measuring.figures.desired(appEnvId, containers)
        reconciler()?.desire(appEnvId, containers)
      },
      drained: (appEnvId, container) => reconciler()?.drained(appEnvId, container),
      unreachable: () => reconciler()?.unreachable(),
      ...measuring.gatewayEvents,
    },
  })
  const cancel = every(clock, gatewayCheckMs, async () => {
    if (link.isUp) return
    try {
      const { pid, adopted } = await ensureGateway({ ...options, port: first.port })
      if (!adopted) log.warn({ gatewayPid: pid }, 'the gateway was gone and is started again')
    } catch (error) {
      log.error({ err: error }, 'no gateway yet')
    }
  })
  return {
    link,
    port: () => first.port,
    address: () => ({ host: reachableHost(first.host), port: first.port }),
    url: () => `http://${urlHost(first.host)}:${first.port}`,
    close() {
      cancel()
      link.close()
    },
  }
}

/** Half the cores, for containers and control plane need theirs; more than four never had anything to do. */
function processesFor(cores: number): number {
  return Math.min(4, Math.max(1, Math.floor(cores / 2)))
}

function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

/** A server bound to every address is reached on loopback. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}
