import type Docker from 'dockerode'
import { type Cancel, type Clock, every } from '../../clock.ts'
import { findDockerEndpoint } from '../../docker-endpoint.ts'
import type { Log } from '../../log.ts'
import { connectDocker, type DockerConnection } from './client.ts'
import { type EngineFacts, readEngineFacts } from './facts.ts'
import { HostFirewall } from './host-firewall.ts'
import { installationHash } from './names.ts'
import { AccountNetworks } from './networks.ts'
import { ContainerStarter } from './start.ts'

const firewallCheckMs = 60_000

export interface DockerEngineOptions {
  installationId: string
  /** `unix://` or `tcp://` on loopback; default DOCKER_HOST, then the usual sockets. */
  dockerHost?: string
  /** Node name that containers report; default this machine's name. */
  nodeName?: string
  /** Lets containers use instance metadata and services of this machine; default false. */
  allowHostAccess?: boolean
  /** TCP ports of this machine that stay open for containers: API and gateway. */
  openPorts?: readonly number[]
  clock: Clock
  log: Log
}

/** The state of one connection to the engine. */
export interface Session {
  connection: DockerConnection
  docker: Docker
  facts: EngineFacts
  networks: AccountNetworks
  starter: ContainerStarter
  /** Stops the periodic firewall checks. */
  endChecks: Cancel
}

export function firewallOf({
  installationId,
  allowHostAccess,
  openPorts,
  log,
}: DockerEngineOptions): HostFirewall {
  return new HostFirewall({
    id: installationHash(installationId),
    open: allowHostAccess ?? false,
    openPorts: (openPorts ?? []).filter((port) => port > 0),
    log,
  })
}

/** Connects, and blocks restricted addresses before any container starts. */
export async function openSession(
  options: DockerEngineOptions,
  nodeName: string,
  firewall: HostFirewall,
): Promise<Session> {
  const { installationId, clock, log } = options
  const endpoint = findDockerEndpoint(options.dockerHost)
  const connection = await connectDocker(endpoint)
  const { docker } = connection
  const facts = await readEngineFacts(docker, endpoint.kind, log)
  const protect = (bridges: () => Promise<string[]>) => firewall.protect(facts.addressMode, bridges)
  const networks = new AccountNetworks(docker, installationId, protect, log)
  await networks.protect()
  // A reload of the firewall, as by firewalld, removes our rules.
  const endChecks = every(clock, firewallCheckMs, () => networks.protect())
  const starter = new ContainerStarter(docker, networks, { installationId, nodeName, ...facts })
  return { connection, docker, facts, networks, starter, endChecks }
}
