import type { Host } from '../contract/app-envs.ts'

/** Where an environment answers. Functions use a domain of their own (F5). */
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
  return hosts
}
