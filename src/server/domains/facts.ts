import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { localDomains } from '../../domain/environments/hosts.ts'
import type { Installation } from '../../operations/core/handler.ts'
import type { Platform } from '../platform.ts'

/** Facts of the installation for domains of environments. */
export function domainFacts({
  config,
  regions,
  directory,
  membership,
}: Pick<Platform, 'config' | 'regions' | 'directory' | 'membership'>): Installation['domains'] {
  const publicHost = config.publicUrl === undefined ? null : new URL(config.publicUrl).hostname
  return {
    ownNames: () => {
      const published = membership.instances().flatMap((one) => one.regions.map(({ region }) => region))
      const foreign = published.map((region) => directory.foreign(region)?.facts.addresses)
      const all = [config.domains, localDomains, ...foreign, ...regions.flatMap(namesOf)]
      const domains = all.flatMap((one) => (one ? [one.appDomain, one.functionDomain] : []))
      return { domains: [...new Set(domains.filter((one) => one !== null))], host: publicHost }
    },
    addresses: addressesOf(config.host, publicHost),
    orders: config.acme !== null,
    setsTxtRecords: config.dnsHook !== undefined,
  }
}

function namesOf({ domains, addresses }: Platform['regions'][number]) {
  return [domains, addresses]
}

/** An address of the public URL or the one that is bound; of a machine that binds all of them, its own. */
function addressesOf(host: string, publicHost: string | null): string[] {
  const given = (publicHost ?? '').replace(/^\[|\]$/g, '')
  if (isIP(given)) return [given]
  if (isIP(host) && host !== '0.0.0.0' && host !== '::') return [host]
  const found = Object.entries(networkInterfaces()).flatMap(([name, addresses = []]) =>
    /^(?:docker|br-|veth|cni|flannel)/.test(name) ? [] : addresses,
  )
  return found.filter(({ internal }) => !internal).map(({ address }) => address)
}
