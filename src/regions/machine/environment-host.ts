import { localDomains, type MachineDomains, machineHost } from '../../domain/environments/hosts.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'

/** The domains of a region of this machine. */
export type DomainsOf = (region: string) => MachineDomains

/** The host name under which the gateway serves an environment; while it moves, that of the region that serves it. */
export function environmentHost(domainsOf: DomainsOf = () => localDomains) {
  return ({ environment, app }: Pick<EnvironmentView, 'environment' | 'app'>): string => {
    const { cliEnvName, servedFrom, region } = environment
    return machineHost(cliEnvName, app.isFunction, domainsOf(servedFrom ?? region))
  }
}
