import { existsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { AppError } from './errors.ts'
import { isLoopback } from './loopback.ts'

/** Socket of an engine with the Docker API. */
export type DockerEndpoint = { kind: 'unix'; path: string } | { kind: 'tcp'; host: string; port: number }

interface Options {
  env: Readonly<Record<string, string | undefined>>
  homeDir: string
  exists(path: string): boolean
}

const here: Options = { env: process.env, homeDir: os.homedir(), exists: existsSync }

/**
 * Returns `dockerHost` (default: DOCKER_HOST) if given, otherwise the first usual socket that exists, otherwise the
 * system's. Throws `invalid` for unsupported forms: containers must run on this machine, so tcp is limited to
 * loopback.
 */
export function findDockerEndpoint(dockerHost?: string, options: Options = here): DockerEndpoint {
  const given = dockerHost || options.env.DOCKER_HOST
  if (given) return parseDockerHost(given)
  const runtimeDir = options.env.XDG_RUNTIME_DIR
  const usual = [
    '/var/run/docker.sock',
    path.join(options.homeDir, '.docker/run/docker.sock'),
    ...(runtimeDir ? [path.join(runtimeDir, 'docker.sock')] : []),
    '/run/podman/podman.sock',
    ...(runtimeDir ? [path.join(runtimeDir, 'podman/podman.sock')] : []),
  ]
  return { kind: 'unix', path: usual.find((one) => options.exists(one)) ?? usual[0]! }
}

function parseDockerHost(dockerHost: string): DockerEndpoint {
  if (dockerHost.startsWith('unix:///')) return { kind: 'unix', path: dockerHost.slice('unix://'.length) }
  const tcp = /^(?:tcp|http):\/\/([^/:]+|\[::1\]):(\d{1,5})\/?$/.exec(dockerHost)
  if (tcp && isLoopback(tcp[1]!))
    return { kind: 'tcp', host: tcp[1]!.replace(/[[\]]/g, ''), port: Number(tcp[2]) }
  throw new AppError('invalid', 'DOCKER_HOST names a container engine that cannot be used', {
    details:
      'Use unix:///path/to/docker.sock or tcp://127.0.0.1:port. The engine must run on this machine: ' +
      'containers are reached over its network.',
  })
}

/** The connection options of dockerode for an endpoint. */
export function dockerodeOptions(endpoint: DockerEndpoint) {
  return endpoint.kind === 'unix'
    ? { socketPath: endpoint.path }
    : { host: endpoint.host, port: endpoint.port, protocol: 'http' as const }
}
