import type Docker from 'dockerode'
import type { EngineContainer } from '../engine.ts'
import type { AddressMode } from './address-mode.ts'
import { orNull, requestInTime } from './client.ts'
import { toEngineContainer } from './inspected-container.ts'
import { containerName, label, ownContainers } from './names.ts'

/** Inspect in groups: an engine with a hundred parallel requests answers all of them late. */
const groupSize = 16

/** Times and exit codes are not in the engine's list and cost one request per container, so they are cached. */
export class ContainerList {
  readonly #installationId: string
  readonly #nodeName: string
  /** The last inspection by the engine's id; used only while events report every change. */
  readonly #known = new Map<string, { state: string; container: EngineContainer }>()
  #listeners = 0

  constructor(installationId: string, nodeName: string) {
    this.#installationId = installationId
    this.#nodeName = nodeName
  }

  /** Call when events start to arrive. Returns a function to call when they stop. */
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

  /** Discards the cached state of a changed container. */
  changed(name: string): void {
    for (const [id, { container }] of this.#known) if (container.name === name) this.#known.delete(id)
  }

  /** Every container of the installation, in any state. */
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
    // Containers of build steps also carry the installation label, but no pod label; the builder handles them.
    const filters = { label: ownContainers(this.#installationId) }
    return requestInTime((abortSignal) => docker.listContainers({ all: true, filters, abortSignal }))
  }

  /** Inspects one container; null if it belongs to another installation. */
  async find(docker: Docker, name: string): Promise<Docker.ContainerInspectInfo | null> {
    const found = await orNull(
      requestInTime((abortSignal) => docker.getContainer(containerName(name)).inspect({ abortSignal })),
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
      requestInTime((abortSignal) => docker.getContainer(summary.Id).inspect({ abortSignal })),
    )
    if (!info) return null
    const container = toEngineContainer(info, { nodeName: this.#nodeName, addressMode })
    if (this.#listeners > 0) this.#known.set(summary.Id, { state: info.State.Status, container })
    return container
  }
}
