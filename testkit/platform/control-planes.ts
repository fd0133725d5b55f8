import { randomBytes } from 'node:crypto'
import { type Instance, listInstances } from '../../src/contract/instances.ts'
import { listRegions } from '../../src/contract/regions.ts'
import { newToken } from '../../src/domain/access/tokens.ts'
import type { PostgresServer } from '../store/postgres-server.ts'
import { untilRead } from '../until.ts'
import { Installation } from './installation.ts'

/** Several control planes as operators run them: one database, one master key, a machine name and regions each. */
export class ControlPlanes {
  readonly #installations = new Map<string, Installation>()

  private constructor(
    readonly database: string,
    readonly settings: Record<string, string>,
  ) {}

  /** `machines`: the regions of each machine, such as `{ alder: 'north=process', birch: 'none' }`. */
  static async start(
    server: PostgresServer,
    machines: Record<string, string>,
    settings: Record<string, string> = {},
  ): Promise<ControlPlanes> {
    const { name, url } = await server.createDatabase()
    const planes = new ControlPlanes(name, {
      LONGSHORE_DATABASE_URL: url.reveal(),
      LONGSHORE_MASTER_KEY: randomBytes(32).toString('hex'),
      LONGSHORE_BOOTSTRAP_TOKEN: newToken('user'),
      LONGSHORE_GATEWAY_PROCESSES: '1',
      ...settings,
    })
    for (const [node, regions] of Object.entries(machines)) planes.#add(node, regions)
    try {
      await Promise.all([...planes.#installations.values()].map((installation) => installation.start()))
      for (const node of Object.keys(machines)) await planes.#seesAll(node)
      return planes
    } catch (error) {
      await planes.dispose()
      throw error
    }
  }

  at(node: string): Installation {
    const installation = this.#installations.get(node)
    if (!installation) throw new Error(`there is no machine ${node}`)
    return installation
  }

  /** A further control plane, not started. */
  add(node: string, regions: string): Installation {
    return this.#add(node, regions)
  }

  /** The instances as one of them lists them. */
  async instances(observer: string): Promise<Instance[]> {
    return (await this.at(observer).client().call(listInstances, {})).instances
  }

  /** The machine that holds a lease, as `observer` lists it; null while there is none. */
  async holder(lease: string, observer: string): Promise<string | null> {
    const found = (await this.instances(observer)).find(({ leases }) =>
      leases.some(({ name }) => name === lease),
    )
    return found?.node ?? null
  }

  /** Kills the remaining processes; containers and gateways end too. */
  async dispose(): Promise<void> {
    for (const installation of this.#installations.values()) installation.signal('SIGCONT')
    await Promise.all([...this.#installations.values()].map((installation) => installation.dispose()))
  }

  /** Waits until one of them lists the regions of all machines. */
  async #seesAll(node: string): Promise<void> {
    const settings = [...this.#installations.values()].map(
      (one) => one.setting('LONGSHORE_REGIONS') ?? 'none',
    )
    const count = settings
      .filter((regions) => regions !== 'none')
      .flatMap((regions) => regions.split(',')).length
    await untilRead(
      async () => (await this.at(node).client().call(listRegions, {})).regions,
      (regions) => regions.length === count && regions.every(({ available }) => available),
      `${node} sees all regions`,
    )
  }

  #add(node: string, regions: string): Installation {
    const installation = new Installation({
      ...this.settings,
      LONGSHORE_NODE: node,
      LONGSHORE_REGIONS: regions,
    })
    this.#installations.set(node, installation)
    return installation
  }
}
