import type { Host } from '../contract/app-envs.ts'

/**
 * Where an environment answers. Functions use a domain of their own (F5). `internalPort` is the port of the code
 * where containers of one account reach each other by `envName`, null where they do not.
 */
export function environmentHosts(options: {
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
  // A function at zero has no container to reach inside: only the gateway wakes it.
  if (options.internalPort !== null && !options.isFunction) {
    const url = `http://${options.envName}:${options.internalPort}`
    hosts.push({ host: options.envName, url, kind: 'internal' })
  }
  return hosts
}
