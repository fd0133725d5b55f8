import { existsSync } from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { AppError } from '../../errors.ts'
import { isLoopback } from '../../loopback.ts'

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

/** Whether an engine answers a ping within `deadlineMs`. Never throws; used to choose an engine. */
export function dockerSocketAnswers(dockerHost?: string, deadlineMs = 300): Promise<boolean> {
  let endpoint: DockerEndpoint
  try {
    endpoint = findDockerEndpoint(dockerHost)
  } catch {
    return Promise.resolve(false)
  }
  const target = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : endpoint
  return new Promise((resolve) => {
    const request = http.get({ ...target, path: '/_ping', agent: false }, (response) => {
      response.resume()
      finish(response.statusCode === 200)
    })
    const timer = setTimeout(() => finish(false), deadlineMs)
    request.on('error', () => finish(false))
    function finish(answer: boolean) {
      clearTimeout(timer)
      resolve(answer)
      request.destroy()
    }
  })
}
