import type { Host } from '../../contract/app-envs.ts'
import type { DockerPreset } from '../../contract/fields.ts'
import { isDatabase, isFunction, isJob } from '../apps/presets.ts'
import {
  clusterDatabaseHosts,
  type DatabaseAccess,
  type DatabaseSecrets,
  databaseHosts,
} from '../databases/credentials.ts'
import { clusterNamespace, workloadName } from './cluster-names.ts'

/** Where the environments of a region answer: `<envName>.<domain>` on one port, by https if that is 443. */
export interface RegionAddresses {
  appDomain: string
  /** Null: functions cannot run there (F5). */
  functionDomain: string | null
  /**
   * In a cluster: of the namespaces of accounts. Knative names functions `<name>.<namespace>.<functionDomain>`, and
   * databases answer inside the cluster as `<name>.<namespace>.svc`.
   */
  namespacePrefix?: string
  port: number
}

/** The domains of the environments of a machine region. */
export interface MachineDomains {
  appDomain: string
  functionDomain: string
  /** The port in URLs, of a proxy or a port mapping; absent: that of the gateway. */
  publicPort?: number | undefined
}

export const localDomains: MachineDomains = { appDomain: 'app.localhost', functionDomain: 'fn.localhost' }

/** The addresses that the gateway of a machine serves. */
export function machineAddresses(gatewayPort: number, domains = localDomains): RegionAddresses {
  const { appDomain, functionDomain, publicPort } = domains
  return { appDomain, functionDomain, port: publicPort ?? gatewayPort }
}

/** The host name of an environment of a machine region. */
export function machineHost(envName: string, isFunction: boolean, domains: MachineDomains): string {
  return `${envName}.${isFunction ? domains.functionDomain : domains.appDomain}`
}

interface Named {
  envName: string
  accountId: string
  isFunction: boolean
  addresses: RegionAddresses
}

/** Every address of an environment, whatever its preset. `isolates`: the engine has networks with internal names. */
export function hostsOf(
  environment: {
    cliEnvName: string
    accountId: string
    database?: DatabaseAccess
    applied?: { containers: number }
  },
  app: { port: number | null; dockerPreset: string },
  secrets: DatabaseSecrets | undefined,
  facts: { isolates: boolean; addresses: RegionAddresses },
): Host[] {
  const preset = app.dockerPreset as DockerPreset
  const { cliEnvName, accountId, database } = environment
  if (database) {
    const shown = { preset, access: database, secrets: secrets ?? null }
    const { namespacePrefix } = facts.addresses
    const containers = environment.applied?.containers ?? 1
    if (namespacePrefix !== undefined) {
      const namespace = clusterNamespace(namespacePrefix, accountId)
      return clusterDatabaseHosts({ ...shown, workload: workloadName(cliEnvName), namespace, containers })
    }
    return databaseHosts({ ...shown, internalHost: facts.isolates ? cliEnvName : null, containers })
  }
  return environmentHosts({
    envName: cliEnvName,
    accountId,
    isFunction: isFunction(preset),
    serves: !isJob(preset) && !isDatabase(preset),
    internalPort: facts.isolates ? app.port : null,
    addresses: facts.addresses,
  })
}

/**
 * The addresses of an environment that serves HTTP. Functions use their own domain (F5). `internalPort` is the code's port if
 * containers of one account can connect by `envName`, otherwise null.
 */
function environmentHosts(options: Named & { serves: boolean; internalPort: number | null }): Host[] {
  if (!options.serves) return []
  const { port } = options.addresses
  const host = hostOf(options)
  const hosts: Host[] = []
  if (host !== null) {
    hosts.push({ host, url: urlOf(host, port), kind: options.isFunction ? 'function' : 'http' })
  }
  // A function at zero has no container to connect to: only the gateway starts one.
  if (options.internalPort !== null && !options.isFunction) {
    const url = `http://${options.envName}:${options.internalPort}`
    hosts.push({ host: options.envName, url, kind: 'internal' })
  }
  return hosts
}

function hostOf({ envName, accountId, isFunction, addresses }: Named): string | null {
  const { appDomain, functionDomain, namespacePrefix: prefix } = addresses
  if (!isFunction) return `${envName}.${appDomain}`
  if (functionDomain === null) return null
  if (prefix === undefined) return `${envName}.${functionDomain}`
  return `${workloadName(envName)}.${clusterNamespace(prefix, accountId)}.${functionDomain}`
}

function urlOf(host: string, port: number): string {
  if (port === 443) return `https://${host}`
  return `http://${host}${port === 80 ? '' : `:${port}`}`
}
