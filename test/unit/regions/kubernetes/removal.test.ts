import { expect, it } from 'vitest'
import type { Observed } from '../../../../src/regions/kubernetes/cache.ts'
import { removeEnvironment } from '../../../../src/regions/kubernetes/removal.ts'
import { FakeCluster } from '../../../../testkit/kubernetes/fake-cluster.ts'

const namespace = 'ls-account'
const collections = {
  ...{ statefulsets: 'cache-prod', services: 'cache-prod', ingresses: 'cache-prod' },
  ...{ persistentvolumeclaims: 'cache-prod-data', secrets: 'cache-prod-credentials' },
}

function labelsOf(appEnvId: string) {
  return { 'longshore.dev/installation': 'ins_1', 'longshore.dev/environment': appEnvId }
}

function fill(cluster: FakeCluster, appEnvId: string, into = namespace): void {
  for (const [collection, name] of Object.entries(collections))
    cluster.put(collection, { metadata: { name, namespace: into, labels: labelsOf(appEnvId) } })
}

/** As the cache has it, also when it lags behind. */
function observedOf(cluster: FakeCluster): Observed {
  const statefulSet = structuredClone(cluster.find('statefulsets cache-prod')) as Observed['statefulSet']
  return { deployment: undefined, service: undefined, statefulSet, postgres: undefined, pods: [] }
}

function removed(
  cluster: FakeCluster,
  observed: Observed | undefined,
  how: { keepsData?: boolean; endsCopies?: boolean } = {},
): Promise<void> {
  const options = { namespacePrefix: 'ls-', appDomain: 'app.example.com' }
  const deps = { client: cluster.client, installationId: 'ins_1', options }
  const secrets = new Map<string, string>()
  const removal = { appEnvId: 'env_a', observed, secrets, keepsData: false, endsCopies: false, ...how }
  return removeEnvironment(deps, removal)
}

it('removes each object of an environment; with keepsData all but its volume', async () => {
  const cluster = new FakeCluster()
  fill(cluster, 'env_a')
  await removed(cluster, observedOf(cluster), { keepsData: true })
  expect(cluster.names()).toEqual(['persistentvolumeclaims cache-prod-data'])
  fill(cluster, 'env_a')
  await removed(cluster, observedOf(cluster))
  expect(cluster.names()).toEqual([])
})

it('finds what is left without a workload, and ends what copies the volume of a deleted one', async () => {
  const cluster = new FakeCluster()
  fill(cluster, 'env_a')
  cluster.drop('statefulsets', cluster.find('statefulsets cache-prod')!)
  const labels = { 'longshore.dev/installation': 'ins_1', 'longshore.dev/volume-of': 'env_a' }
  cluster.put('jobs', { metadata: { name: 'cache-prod-copy', namespace, labels } })
  await removed(cluster, undefined)
  expect(cluster.names('')).toEqual(['jobs cache-prod-copy'])
  await removed(cluster, undefined, { endsCopies: true })
  expect(cluster.names('')).toEqual([])
})

it('leaves objects of the same names alone that belong to the next environment', async () => {
  const cluster = new FakeCluster()
  fill(cluster, 'env_a')
  const observed = observedOf(cluster)
  for (const collection of Object.keys(collections))
    for (const one of cluster.objects(collection)) cluster.drop(collection, one)
  fill(cluster, 'env_b')
  const before = cluster.names('longshore.dev/environment=env_b')
  await removed(cluster, observed)
  expect(before).toHaveLength(5)
  expect(cluster.names('longshore.dev/environment=env_b')).toEqual(before)
})

it('leaves to another region and to an operator what is theirs', async () => {
  const cluster = new FakeCluster()
  fill(cluster, 'env_a', 'other-account')
  const labels = labelsOf('env_a')
  const ownerReferences = [{ uid: 'uid-cluster', controller: true }]
  cluster.put('persistentvolumeclaims', { metadata: { name: 'made', namespace, labels, ownerReferences } })
  const before = cluster.names()
  await removed(cluster, undefined)
  expect(cluster.names()).toEqual(before)
})
