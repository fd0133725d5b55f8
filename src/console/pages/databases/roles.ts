import type { Host } from '../../../contract/app-envs.ts'

export const kindNames: Record<Host['kind'], string> = {
  native: 'Database protocol',
  http: 'HTTP',
  amqp: 'AMQP',
  mqtt: 'MQTT',
  management: 'Management page',
  internal: 'Inside the account',
  function: 'HTTP',
}

/** The platform lists the addresses of the first container first: that one takes writes. */
export function withRoles(hosts: readonly Host[]): (Host & { role: string })[] {
  const perContainer = hosts.findIndex(({ kind }, index) => index > 0 && kind === hosts[0]?.kind)
  return hosts.map((host, index) => {
    const ordinal = perContainer < 1 ? 0 : Math.floor(index / perContainer)
    return { ...host, role: ordinal === 0 ? 'Reads and writes' : `Replica ${ordinal}, reads only` }
  })
}
