import { BlockList } from 'node:net'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { databaseEndpoints } from '../../../../src/domain/databases/credentials.ts'
import { metadataRanges } from '../../../../src/domain/environments/metadata-ranges.ts'
import { databaseManifests } from '../../../../src/regions/kubernetes/databases/manifest.ts'
import type { DatabaseWorkload } from '../../../../src/regions/kubernetes/databases/workload.ts'
import { jobManifests } from '../../../../src/regions/kubernetes/jobs/manifest.ts'
import { accountManifests } from '../../../../src/regions/kubernetes/manifests/account.ts'
import { appManifests } from '../../../../src/regions/kubernetes/manifests/app.ts'
import { functionManifests } from '../../../../src/regions/kubernetes/manifests/function.ts'
import { volumeCopyJob } from '../../../../src/regions/kubernetes/manifests/volume-copy.ts'
import type { Manifest, Workload } from '../../../../src/regions/kubernetes/manifests/workload.ts'

const options = { namespacePrefix: 'ls-', appDomain: 'app.example.com', ingressClass: 'traefik' }
const app: Workload = {
  installationId: 'ins_1',
  accountId: 'acc_4k2m6q8s0u3w5y7a9c1e',
  appEnvId: 'env_4k2m6q8s0u3w5y7a9c1e',
  envName: 'shop-prod',
  rolloutId: 'rol_1',
  contentId: 'dep_1',
  image: 'registry.example.com/shop@sha256:0',
  port: 3000,
  env: { API_KEY: 'plant-me-nowhere-else' },
  containers: 2,
  cpuMillicores: 500,
  memoryMb: 512,
  healthCheck: {
    path: '/healthz',
    expectedStatus: 200,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    stabilitySeconds: 10,
  } as Workload['healthCheck'],
  autoscaling: null,
  functionConfig: null,
  warm: 0,
  volume: null,
}
const mount = { volume: 'data', path: '/data' }
const functionConfig = {
  containerConcurrency: 10,
  timeoutSeconds: 60,
  idleTimeoutSeconds: 900,
  responseStartTimeoutSeconds: 30,
  minScale: 0,
  maxScale: 3,
}
const autoscaling = {
  ...{ enabled: true, minContainers: 2, maxContainers: 6, targetCpuPercent: 60, targetMemoryPercent: null },
  ...{ scaleUpWindowSeconds: 0, scaleDownWindowSeconds: 300 },
} as unknown as Workload['autoscaling']

function database(
  dockerPreset: DatabaseWorkload['database']['dockerPreset'],
  version: string,
  values: Partial<DatabaseWorkload> = {},
): DatabaseWorkload {
  const ports = databaseEndpoints(dockerPreset).map(({ name, port }) => ({ name, port, hostPort: 0 }))
  return {
    ...{ ...app, containers: 1, image: `registry.example.com/${dockerPreset.toLowerCase()}:${version}` },
    ...{ env: {}, diskMb: 5_120, mqttHost: null },
    database: {
      ...{
        dockerPreset,
        version,
        user: 'u_1',
        password: 'plant-me-nowhere-else',
        adminPassword: 'admin-plant',
      },
      ...{ database: 'shop_prod', parameters: {}, ports, persistent: true },
    },
    ...values,
  }
}
const clustered = database('POSTGRESQL', '17-pgvector', { containers: 3 })
const postgres = { ...clustered, database: { ...clustered.database, parameters: { work_mem: '16MB' } } }
const rabbit = database('RABBITMQ', '4.0', { mqttHost: 'mqtt-a1b2c3.localhost' })

const golden = (name: string, manifests: Manifest[]) =>
  expect(manifests.map((one) => stringify(one)).join('---\n')).toMatchFileSnapshot(`./golden/${name}.yaml`)

function partsOf(range: string): [network: string, prefix: number] {
  const [network = '', prefix] = range.split('/')
  return [network, Number(prefix)]
}

/** The first and the last address of a range whose prefix ends at a byte. */
function edgesOf(range: string): string[] {
  const [network, prefix] = partsOf(range)
  const last = network.split('.').map((byte, index) => (index < prefix / 8 ? byte : '255'))
  return [network, last.join('.')]
}

/** The containers of the pod template of an object. */
function containersIn(object: object): { securityContext?: object }[] {
  const { spec } = object as { spec?: { template?: { spec?: { containers?: object[] } } } }
  return spec?.template?.spec?.containers ?? []
}

describe('the objects of a cluster region', () => {
  it('of an account: a namespace that is closed by default', () =>
    golden('account', accountManifests(app.accountId, app.installationId, { ...options, zCloudLimit: 64 })))

  it.each(metadataRanges)('of an account: no way out to instance metadata at %s', (range) => {
    const objects = accountManifests(app.accountId, app.installationId, { ...options, zCloudLimit: 64 })
    const { spec } = objects.find(({ kind }) => kind === 'NetworkPolicy') as unknown as {
      spec: { egress: { to: { ipBlock?: { except: string[] } }[] }[] }
    }
    const blocks = spec.egress.flatMap(({ to }) => to.flatMap(({ ipBlock }) => ipBlock ?? []))
    expect(blocks).toHaveLength(1)
    for (const { except } of blocks) {
      const closed = new BlockList()
      for (const one of except) closed.addSubnet(...partsOf(one))
      expect(edgesOf(range).filter((address) => !closed.check(address))).toEqual([])
    }
  })

  it('of an app', () => golden('app', appManifests(app, options)))
  it('of an app that scales by itself', () =>
    golden('app-autoscaling', appManifests({ ...app, autoscaling }, options)))
  it('of an app with a volume', () =>
    golden(
      'app-volume',
      appManifests({ ...app, containers: 1, volume: { mountPath: '/data', diskMb: 1_024 } }, options),
    ))
  it('of an app whose volume is being copied', () => {
    const volume = { mountPath: '/data', diskMb: 1_024 }
    golden('app-held', appManifests({ ...app, containers: 0, isHeld: true, volume }, options))
  })
  it('that copies the volume of a stopped app', () =>
    golden('volume-copy', [volumeCopyJob({ ...app, mount }, app.installationId, options)]))
  it.each([
    ['gateway', { gateway: { name: 'shared', namespace: 'gateways', listener: 'https' } }],
    ['tls-default', { ingressClass: 'traefik', tls: 'default' }],
    ['tls-issuer', { ingressClass: 'traefik', tls: { clusterIssuer: 'letsencrypt' } }],
  ] as const)('of the way to an app: %s', (name, route) => {
    const all = appManifests(app, { namespacePrefix: 'ls-', appDomain: 'app.example.com', ...route })
    const routes = all.filter(({ kind }) => kind === 'Ingress' || kind === 'HTTPRoute')
    expect(routes).toHaveLength(1)
    return golden(`app-${name}`, routes)
  })
  it('annotations for the ingress, of the route and of the Service', () => {
    const route = { 'traefik.ingress.kubernetes.io/router.middlewares': 'traefik-retry@kubernetescrd' }
    const service = {
      'traefik.ingress.kubernetes.io/service.serverstransport': 'traefik-quick@kubernetescrd',
    }
    const annotations = { route, service }
    const issuer = { tls: { clusterIssuer: 'letsencrypt' }, annotations }
    const all = appManifests(app, { ...options, ...issuer })
    return golden(
      'app-annotations',
      all.filter(({ metadata }) => metadata.annotations),
    )
  })
  it('F1 F3 of a function', () => golden('function', functionManifests({ ...app, functionConfig }, options)))

  it('of a database with a volume', () =>
    golden('redis', databaseManifests(database('REDIS', '7.4'), { ...options, storageClass: 'fast' })))
  it('of a database that is stopped and keeps nothing', () => {
    const stopped = database('MYSQL', '8.4', { containers: 0 })
    const kept = { ...stopped, database: { ...stopped.database, persistent: false } }
    return golden('mysql-stopped', databaseManifests(kept, options))
  })
  it('D1 of RabbitMQ: MQTT has a Service of its own', () =>
    golden('rabbitmq', databaseManifests(rabbit, options)))
  it('D4 D5 of PostgreSQL by CloudNativePG', () => golden('postgres', databaseManifests(postgres, options)))
  it('of a stopped PostgreSQL, which is hibernated with its number of instances', () => {
    const [, , cluster] = databaseManifests({ ...postgres, containers: 0 }, options)
    expect(cluster!.metadata.annotations).toEqual({ 'cnpg.io/hibernation': 'on' })
  })

  it('podSecurity restricted: the namespace enforces it, and no container runs as root', () => {
    const restricted = { ...options, podSecurity: 'restricted' } as const
    const [namespace] = accountManifests(app.accountId, app.installationId, {
      ...restricted,
      zCloudLimit: 64,
    })
    const enforced = 'pod-security.kubernetes.io/enforce'
    expect(namespace!.metadata.labels).toMatchObject({ [enforced]: 'restricted' })
    const job = { ...app, name: 'job-1', podId: 'pod_1', port: null, internalHost: 'job-1' }
    const all = [
      ...appManifests(app, restricted),
      ...functionManifests({ ...app, functionConfig }, restricted),
      volumeCopyJob({ ...app, mount }, app.installationId, restricted),
      ...jobManifests(job, { ...restricted, installationId: 'ins_1', namespace: 'ls-1', claimOf: String }),
    ]
    const contexts = all.flatMap((one) => containersIn(one)).map(({ securityContext }) => securityContext)
    expect(contexts).toEqual(Array(4).fill(expect.objectContaining({ runAsNonRoot: true })))
  })

  it('E2 values of variables are in Secrets only', () => {
    const all = [
      ...appManifests(app, options),
      ...functionManifests({ ...app, functionConfig }, options),
      ...[
        database('REDIS', '7.4'),
        database('MYSQL', '8.4'),
        database('COUCHDB', '3.4'),
        postgres,
        rabbit,
      ].flatMap((one) => databaseManifests(one, options)),
    ]
    const holders = all.filter((one) =>
      /plant-me-nowhere-else|admin-plant|cGxhbnQtbWUt/.test(JSON.stringify(one)),
    )
    expect(new Set(holders.map(({ kind }) => kind))).toEqual(new Set(['Secret']))
  })
})
