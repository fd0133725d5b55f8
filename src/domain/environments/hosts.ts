import type { Host } from '../../contract/app-envs.ts'
import type { DockerPreset } from '../../contract/fields.ts'
import { isDatabase, isFunction, isJob } from '../apps/presets.ts'
import { type DatabaseAccess, type DatabaseSecrets, databaseHosts } from '../databases/credentials.ts'

/** Every address of an environment, whatever its preset. `isolates`: the engine has networks with internal names. */
export function hostsOf(
  environment: { cliEnvName: string; database?: DatabaseAccess; applied?: { containers: number } },
  app: { port: number | null; dockerPreset: string },
  secrets: DatabaseSecrets | undefined,
  facts: { isolates: boolean; gatewayPort: number },
): Host[] {
  const preset = app.dockerPreset as DockerPreset
  const { cliEnvName, database } = environment
  if (database) {
    const internalHost = facts.isolates ? cliEnvName : null
    const containers = environment.applied?.containers ?? 1
    return databaseHosts({ preset, access: database, secrets: secrets ?? null, internalHost, containers })
  }
  return environmentHosts({
    envName: cliEnvName,
    isFunction: isFunction(preset),
    serves: !isJob(preset) && !isDatabase(preset),
    internalPort: facts.isolates ? app.port : null,
    gatewayPort: facts.gatewayPort,
  })
}

/**
 * The addresses of an environment. Functions use their own domain (F5). `internalPort` is the code's port if
 * containers of one account can connect by `envName`, otherwise null.
 */
function environmentHosts(options: {
  envName: string
  isFunction: boolean
  serves: boolean
  internalPort: number | null
  gatewayPort: number
}): Host[] {
  if (!options.serves) return []
  const name = `${options.envName}.${options.isFunction ? 'fn' : 'app'}.localhost`
  const hosts: Host[] = [
    {
      host: name,
      url: `http://${name}${options.gatewayPort === 80 ? '' : `:${options.gatewayPort}`}`,
      kind: options.isFunction ? 'function' : 'http',
    },
  ]
  // A function at zero has no container to connect to: only the gateway starts one.
  if (options.internalPort !== null && !options.isFunction) {
    const url = `http://${options.envName}:${options.internalPort}`
    hosts.push({ host: options.envName, url, kind: 'internal' })
  }
  return hosts
}
