import type Docker from 'dockerode'
import type { EngineContainer } from '../engine.ts'
import { askedInTime, orNull } from './docker-client.ts'
import { type AddressMode, containerName, label, ownContainers, toEngineContainer } from './docker-spec.ts'

/** Inspected in groups: an engine asked a hundred things at once answers none of them soon. */
const groupSize = 16

/** What the engine's own list does not tell (times, exit code) costs one question a container; it is remembered. */
export class ContainerList {
  readonly #installationId: string
  readonly #nodeName: string
  /** As last inspected, by the engine's id; only used while events tell of every change. */
  readonly #known = new Map<string, { state: string; container: EngineContainer }>()
  #listeners = 0

  constructor(installationId: string, nodeName: string) {
    this.#installationId = installationId
    this.#nodeName = nodeName
  }

  /** Events arrive from now on. Answers how to say that they no longer do. */
  listening(): () => void {
    this.#listeners++
    let over = false
    return () => {
      if (over) return
      over = true
      this.#listeners--
      this.#known.clear()
    }
  }

  /** Something happened to the container: what is remembered of it no longer counts. */
  changed(name: string): void {
    for (const [id, { container }] of this.#known) if (container.name === name) this.#known.delete(id)
  }

  /** Every container of the installation, whatever its state. */
  async read(docker: Docker, addressMode: AddressMode): Promise<EngineContainer[]> {
    const summaries = await this.summaries(docker)
    const present = new Set(summaries.map((one) => one.Id))
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id)
    const containers: EngineContainer[] = []
    for (let from = 0; from < summaries.length; from += groupSize) {
      const group = summaries.slice(from, from + groupSize)
      const found = await Promise.all(group.map((one) => this.#inspected(docker, addressMode, one)))
      containers.push(...found.filter((one) => one !== null))
    }
    return containers
  }

  summaries(docker: Docker): Promise<Docker.ContainerInfo[]> {
    // Containers of build steps carry the installation too, but no pod: they are the builder's business.
    const filters = { label: ownContainers(this.#installationId) }
    return askedInTime((abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
  }

  /** One container as the engine has it; null for another installation's, which is nobody's business here. */
  async find(docker: Docker, name: string): Promise<Docker.ContainerInspectInfo | null> {
    const found = await orNull(
      askedInTime((abortSignal) => docker.getContainer(containerName(name)).inspect({ abortSignal })),
    )
    return found?.Config.Labels[label.installation] === this.#installationId ? found : null
  }

  async #inspected(
    docker: Docker,
    addressMode: AddressMode,
    summary: Docker.ContainerInfo,
  ): Promise<EngineContainer | null> {
    const known = this.#known.get(summary.Id)
    if (known?.state === summary.State) return known.container
    const info = await orNull(
      askedInTime((abortSignal) => docker.getContainer(summary.Id).inspect({ abortSignal })),
    )
    if (!info) return null
    const container = toEngineContainer(info, { nodeName: this.#nodeName, addressMode })
    if (this.#listeners > 0) this.#known.set(summary.Id, { state: info.State.Status, container })
    return container
  }
}
