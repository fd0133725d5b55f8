import { expect, it, onTestFinished } from 'vitest'
import type { Sources } from '../../../src/operations/core/handler.ts'
import type { Peers } from '../../../src/server/instances/peers.ts'
import {
  EnvironmentMachines,
  everywhere,
  uploadsElsewhere,
} from '../../../src/server/instances/remote-data.ts'
import { RegionDirectory } from '../../../src/server/regions/directory.ts'
import type { PlatformRegion } from '../../../src/server/regions/region.ts'
import { type KnownInstance, soleMembership } from '../../../src/store/membership.ts'
import { placeEnvironment } from '../../../testkit/platform/place-environment.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

/** The other control plane runs the cluster `eu`. */
const birch = {
  ...{ node: 'birch', isAlive: true, leases: [{ name: 'region eu', sinceMs: 0 }] },
  regions: [{ region: 'eu', engine: 'kubernetes', problem: null, databases: [] }],
} as unknown as KnownInstance

const local = {
  logs: { read: async () => 'alder' },
  metrics: { periodMs: 1, series: async () => 'alder', traffic: async () => ['alder'] },
  prober: { probe: async () => 'alder' },
} as unknown as Sources

const peers = {
  call: async ({ node }: KnownInstance, method: string) => (method === 'traffic' ? [node] : node),
  uploads: ({ node }: KnownInstance) => node,
} as unknown as Peers

it('while an environment moves, it is measured where it serves, and built in its region', async () => {
  const platform = await TestPlatform.start({ reconciles: false })
  onTestFinished(() => platform.close())
  const { db } = platform
  const { appEnvId } = await platform.makeEnvironment()
  const own = [{ region: 'local' } as unknown as PlatformRegion]
  const directory = new RegionDirectory(own, 'alder', { isShared: true, instances: () => [birch] })
  const sources = async () => {
    const machines = new EnvironmentMachines(
      directory,
      soleMembership(db, 'alder', () => 0),
    )
    const { logs, metrics, prober } = everywhere(local, machines, peers)
    return {
      measured: [
        await metrics.series({ appEnvId } as never),
        ...(await metrics.traffic([{ appEnvId, fromMs: 0, toMs: 1 }])),
        await prober.probe({ appEnvId } as never),
      ],
      built: [await logs.read(appEnvId, {} as never), await uploadsElsewhere(machines, peers)(appEnvId)],
    }
  }

  await placeEnvironment(db, appEnvId, { region: 'eu', servedFrom: 'local' })
  expect(await sources()).toEqual({ measured: ['alder', 'alder', 'alder'], built: ['birch', 'birch'] })
  await placeEnvironment(db, appEnvId, { region: 'local', servedFrom: 'eu' })
  expect(await sources()).toEqual({ measured: ['birch', 'birch', 'birch'], built: ['alder', null] })
})
