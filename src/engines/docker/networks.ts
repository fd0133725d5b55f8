import os from 'node:os'
import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { engineSentence, requestInTime, statusOf } from './client.ts'
import { label, networkName } from './names.ts'
import { subnetCandidates } from './subnets.ts'

/** Blocks these bridges from metadata and machine; never throws. */
type Protect = (bridges: () => Promise<string[]>) => Promise<void>

/** Not a possible account id: those begin with `acc_`. */
const buildsAccount = 'builds'

/** The bridge networks of an installation, one per account, created on first use. */
export class AccountNetworks {
  readonly #docker: Docker
  readonly #installationId: string
  readonly #log: Log
  readonly #ready = new Map<string, Promise<string>>()
  readonly #protect: Protect
  /** Accounts for which a container is being created: their network may look empty but is in use. */
  readonly #inUse = new Map<string, number>()

  constructor(docker: Docker, installationId: string, protect: Protect, log: Log) {
    this.#docker = docker
    this.#protect = protect
    this.#installationId = installationId
    this.#log = log
  }

  /** Runs `task` with the name of the account's network, and keeps the network meanwhile. */
  async use<T>(accountId: string, task: (network: string) => Promise<T>): Promise<T> {
    this.#inUse.set(accountId, (this.#inUse.get(accountId) ?? 0) + 1)
    try {
      return await task(await this.#ensure(accountId))
    } finally {
      const left = (this.#inUse.get(accountId) ?? 1) - 1
      if (left > 0) this.#inUse.set(accountId, left)
      else this.#inUse.delete(accountId)
    }
  }

  /** Call if the engine reports that the network is gone: the next use creates it again. */
  forget(accountId: string): void {
    this.#ready.delete(accountId)
  }

  /** The network of build steps: isolated like an account's, and steps cannot connect to each other. */
  withBuildNetwork<T>(task: (network: string) => Promise<T>): Promise<T> {
    return this.use(buildsAccount, task)
  }

  /** Updates the firewall for the existing networks. */
  async protect(): Promise<void> {
    await this.#protect(async () => (await this.#list()).map(bridgeName))
  }

  /** Removes the networks of accounts without any container. */
  async removeEmpty(accountsWithContainers: ReadonlySet<string>): Promise<void> {
    for (const network of await this.#list()) {
      const accountId = network.Labels?.[label.account] ?? ''
      if (accountsWithContainers.has(accountId) || this.#inUse.has(accountId)) continue
      this.#ready.delete(accountId)
      try {
        await requestInTime((abortSignal) => this.#docker.getNetwork(network.Id).remove({ abortSignal }))
      } catch (error) {
        // 404: already gone. 403 and 409: a container joined it meanwhile, so it is not empty.
        if (![403, 404, 409].includes(statusOf(error) ?? 0)) throw error
      }
    }
    await this.protect()
  }

  #ensure(accountId: string): Promise<string> {
    let ready = this.#ready.get(accountId)
    if (!ready) {
      ready = this.#findOrMake(accountId)
      this.#ready.set(accountId, ready)
      ready.catch(() => this.#ready.delete(accountId))
    }
    return ready
  }

  async #findOrMake(accountId: string): Promise<string> {
    const name = networkName(this.#installationId, accountId)
    if (await this.#exists(name)) return name
    for (const subnet of subnetCandidates(accountId, await this.#takenSubnets())) {
      const outcome = await this.#make(name, accountId, subnet)
      if (outcome === 'made') {
        await this.#removeDuplicates(name)
        // Before the first container joins it.
        await this.protect()
        return name
      }
      if (outcome === 'exists') return name
    }
    throw new AppError('unavailable', 'The container engine has no address range left for another account', {
      details: 'Remove unused networks with `docker network prune`.',
    })
  }

  async #make(name: string, accountId: string, subnet: string): Promise<'made' | 'exists' | 'overlap'> {
    try {
      await requestInTime((abortSignal) =>
        this.#docker.createNetwork({
          Name: name,
          CheckDuplicate: true,
          Driver: 'bridge',
          // IPv6 metadata services and neighbors would need their own rules.
          EnableIPv6: false,
          IPAM: { Driver: 'default', Config: [{ Subnet: subnet }] },
          ...(accountId === buildsAccount && {
            Options: { 'com.docker.network.bridge.enable_icc': 'false' },
          }),
          Labels: { [label.installation]: this.#installationId, [label.account]: accountId },
          abortSignal,
        }),
      )
      return 'made'
    } catch (error) {
      if (statusOf(error) === 409) return 'exists'
      if (/overlap|conflicts with (?:network|existing)/i.test(engineSentence(error))) return 'overlap'
      throw error
    }
  }

  /** Two control planes may create it concurrently; all keep the oldest, so that the name is unique. */
  async #removeDuplicates(name: string): Promise<void> {
    const same = (await this.#list()).filter((network) => network.Name === name)
    const [, ...younger] = same.sort((a, b) => (a.Created + a.Id < b.Created + b.Id ? -1 : 1))
    for (const network of younger) {
      this.#log.info({ network: network.Id }, 'removing a duplicate network')
      await requestInTime((abortSignal) => this.#docker.getNetwork(network.Id).remove({ abortSignal })).catch(
        (error) => this.#log.warn({ err: error }, 'cannot remove a duplicate network'),
      )
    }
  }

  async #exists(name: string): Promise<boolean> {
    return (await this.#list()).some((network) => network.Name === name)
  }

  #list(): Promise<Docker.NetworkInspectInfo[]> {
    const filters = { label: [`${label.installation}=${this.#installationId}`] }
    return requestInTime((abortSignal) => this.#docker.listNetworks({ filters, abortSignal } as object))
  }

  /** The subnets that the engine or this machine use already (such as a private network of the machine). */
  async #takenSubnets(): Promise<string[]> {
    const networks = await requestInTime((abortSignal) =>
      this.#docker.listNetworks({ abortSignal } as object),
    )
    const ofEngine = networks.flatMap((network) =>
      (network.IPAM?.Config ?? []).map((one) => one.Subnet ?? ''),
    )
    const ofMachine = Object.values(os.networkInterfaces()).flatMap((all) =>
      (all ?? []).map((one) => one.cidr ?? ''),
    )
    return [...ofEngine, ...ofMachine]
  }
}

/** The interface that Docker creates for a network unless its options name another. */
function bridgeName({ Id, Options }: Docker.NetworkInspectInfo): string {
  return Options?.['com.docker.network.bridge.name'] ?? `br-${Id.slice(0, 12)}`
}
