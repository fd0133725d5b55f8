import { accountSettings } from '../../src/contract/accounts.ts'
import type { PolicyContent } from '../../src/contract/policy.ts'
import { tokenHash } from '../../src/domain/access/tokens.ts'
import { hostsOf, machineAddresses } from '../../src/domain/environments/hosts.ts'
import type { DatabaseAvailabilityWatch } from '../../src/engines/database-availability.ts'
import type { Engine } from '../../src/engines/engine.ts'
import type { Installation } from '../../src/operations/core/handler.ts'
import type { Reconciler } from '../../src/regions/machine/reconciler.ts'
import type { TestPlatformOptions } from './options.ts'

/** The installation of a test platform, as operations see it. */
export function testInstallation(
  platform: {
    region: string
    now: string
    apiUrl: string
    engine: Pick<Engine, 'kind'>
    reconciler: Reconciler | null
    admin: { token: string }
    options: { policy?: PolicyContent; hasAdminToken?: boolean }
  },
  availability: () => DatabaseAvailabilityWatch | null,
  {
    clockScale = 1,
    publicUrl,
    setsTxtRecords = false,
  }: Pick<TestPlatformOptions, 'clockScale' | 'publicUrl' | 'setsTxtRecords'>,
): Installation {
  const here = {
    engine: platform.engine.kind,
    isolation: { metadataBlocked: false },
    available: true,
    capabilities: {
      ...{ functions: true, apps: true, jobs: true, builds: true, autoscaling: true, volumes: true },
      databases: [],
    },
  }
  // A region with another engine, which has volumes of its own.
  const plain = { ...here, engine: 'other', capabilities: { ...here.capabilities, functions: false } }
  return {
    regions: () => [
      { ...here, region: platform.region, name: 'Here', functionDomain: 'fn.localhost' },
      { ...plain, region: 'plain', name: 'Without functions', functionDomain: null },
    ],
    instances: () => [
      {
        node: 'test-node',
        version: '0.0.0',
        startedAt: platform.now,
        lastSeenAt: platform.now,
        leases: [{ name: 'control-plane', since: platform.now }],
        regions: [platform.region, 'plain'],
      },
    ],
    apiUrl: () => platform.apiUrl,
    publicUrl: () => publicUrl ?? platform.apiUrl,
    hosts: (environment, app, secrets) =>
      hostsOf(environment, app, secrets, { isolates: false, addresses: machineAddresses(4480) }),
    engineProblem: (region) => platform.reconciler?.engineProblem(region) ?? null,
    databaseAvailability: (name) => availability()?.current(name) ?? new Map(),
    databaseImageSource: null,
    adminTokenHash: () => (platform.options.hasAdminToken ? tokenHash(platform.admin.token) : null),
    defaultAccountSettings: accountSettings.parse({}),
    domains: {
      ownNames: () => ({ domains: ['app.localhost', 'fn.localhost'], host: null }),
      ...{ addresses: ['127.0.0.1'], orders: false, setsTxtRecords },
    },
    policy: platform.options.policy ?? null,
    clockScale,
  }
}
