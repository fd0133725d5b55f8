import os from 'node:os'
import type Docker from 'dockerode'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { askedInTime, engineSentence, statusOf } from './docker-client.ts'
import { label, networkName, subnetCandidates } from './docker-spec.ts'

/** The bridge networks of an installation, one an account, made when first needed. */
export class AccountNetworks {
  readonly #docker: Docker
  readonly #installationId: string
  readonly #log: Log
  readonly #ready = new Map<string, Promise<string>>()
  /** Accounts a container is being made for; their network is not empty although it looks so. */
  readonly #inUse = new Map<string, number>()

  constructor(docker: Docker, installationId: string, log: Log) {
    this.#docker = docker
    this.#installationId = installationId
    this.#log = log
  }

  /** Runs `task` with the name of the account's network, which is kept meanwhile. */
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

  /** To be called when the engine says the network is gone: the next use makes it again. */
  forget(accountId: string): void {
    this.#ready.delete(accountId)
  }

  /** Removes the networks of accounts that have no container in any state. */
  async removeEmpty(accountsWithContainers: ReadonlySet<string>): Promise<void> {
    for (const network of await this.#list()) {
      const accountId = network.Labels?.[label.account] ?? ''
      if (accountsWithContainers.has(accountId) || this.#inUse.has(accountId)) continue
      this.#ready.delete(accountId)
      try {
        await askedInTime((abortSignal) => this.#docker.getNetwork(network.Id).remove({ abortSignal }))
      } catch (error) {
        // 404: gone already. 403 and 409: a container joined it meanwhile, so it is not empty after all.
        if (![403, 404, 409].includes(statusOf(error) ?? 0)) throw error
      }
    }
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
      if (outcome === 'made') return await this.#settle(name)
      if (outcome === 'exists') return name
    }
    throw new AppError('unavailable', 'The container engine has no address range left for another account', {
      details: 'Remove networks that nothing uses with `docker network prune`.',
    })
  }

  async #make(name: string, accountId: string, subnet: string): Promise<'made' | 'exists' | 'overlap'> {
    try {
      await askedInTime((abortSignal) =>
        this.#docker.createNetwork({
          Name: name,
          CheckDuplicate: true,
          Driver: 'bridge',
          IPAM: { Driver: 'default', Config: [{ Subnet: subnet }] },
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

  /** Two control planes may have made it at the same moment; all keep the oldest, so that its name is one. */
  async #settle(name: string): Promise<string> {
    const same = (await this.#list()).filter((network) => network.Name === name)
    const [, ...younger] = same.sort((a, b) => (a.Created + a.Id < b.Created + b.Id ? -1 : 1))
    for (const network of younger) {
      this.#log.info({ network: network.Id }, 'a network made twice is removed')
      await askedInTime((abortSignal) => this.#docker.getNetwork(network.Id).remove({ abortSignal })).catch(
        (error) => this.#log.warn({ err: error }, 'a network made twice could not be removed'),
      )
    }
    return name
  }

  async #exists(name: string): Promise<boolean> {
    return (await this.#list()).some((network) => network.Name === name)
  }

  #list(): Promise<Docker.NetworkInspectInfo[]> {
    const filters = { label: [`${label.installation}=${this.#installationId}`] }
    return askedInTime((abortSignal) => this.#docker.listNetworks({ filters, abortSignal } as object))
  }

  /** What the engine uses, and what this machine does otherwise (a private network it is connected to). */
  async #takenSubnets(): Promise<string[]> {
    const networks = await askedInTime((abortSignal) => this.#docker.listNetworks({ abortSignal } as object))
    const ofEngine = networks.flatMap((network) =>
      (network.IPAM?.Config ?? []).map((one) => one.Subnet ?? ''),
    )
    const ofMachine = Object.values(os.networkInterfaces()).flatMap((all) =>
      (all ?? []).map((one) => one.cidr ?? ''),
    )
    return [...ofEngine, ...ofMachine]
  }
}
