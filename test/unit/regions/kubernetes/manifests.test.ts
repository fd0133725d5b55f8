import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { accountManifests } from '../../../../src/regions/kubernetes/manifests/account.ts'
import { appManifests } from '../../../../src/regions/kubernetes/manifests/app.ts'
import { functionManifests } from '../../../../src/regions/kubernetes/manifests/function.ts'
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

const golden = (name: string, manifests: Manifest[]) =>
  expect(manifests.map((one) => stringify(one)).join('---\n')).toMatchFileSnapshot(`./golden/${name}.yaml`)

describe('the objects of a cluster region', () => {
  it('of an account: a namespace that is closed by default', () =>
    golden('account', accountManifests(app.accountId, app.installationId, { ...options, zCloudLimit: 64 })))

  it('of an app', () => golden('app', appManifests(app, options)))
  it('of an app that scales by itself', () =>
    golden('app-autoscaling', appManifests({ ...app, autoscaling }, options)))
  it('of an app with a volume', () =>
    golden(
      'app-volume',
      appManifests({ ...app, containers: 1, volume: { mountPath: '/data', diskMb: 1_024 } }, options),
    ))
  it('F1 F3 of a function', () => golden('function', functionManifests({ ...app, functionConfig }, options)))

  it('E2 values of variables are in Secrets only', () => {
    const all = [...appManifests(app, options), ...functionManifests({ ...app, functionConfig }, options)]
    const holders = all.filter((one) => /plant-me-nowhere-else|cGxhbnQtbWUt/.test(JSON.stringify(one)))
    expect(new Set(holders.map(({ kind }) => kind))).toEqual(new Set(['Secret']))
  })
})
