import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { copyLabel } from '../../../../src/regions/kubernetes/manifests/volume-copy.ts'
import { ClusterVolumes } from '../../../../src/regions/kubernetes/volume-copies.ts'
import { TestClock } from '../../../../testkit/fakes/clock.ts'
import { FakeCluster } from '../../../../testkit/kubernetes/fake-cluster.ts'

it('neither fills nor removes the volume of another environment of the same name', async () => {
  const cluster = new FakeCluster()
  const labels = { 'longshore.dev/installation': 'ins_1', 'longshore.dev/environment': 'env_deleted' }
  cluster.put('persistentvolumeclaims', {
    metadata: { name: 'shop-prod-data', namespace: 'ls-account', labels },
  })
  const volumes = new ClusterVolumes({
    ...{ client: cluster.client, clock: new TestClock(), installationId: 'ins_1' },
    options: { namespacePrefix: 'ls-', appDomain: 'app.example.com' },
  })
  const mount = { volume: 'data', path: '/data' }
  const named = { accountId: 'acc_account', envName: 'shop-prod', image: 'shop:1', mount }
  const spec = { ...named, appEnvId: 'env_new', isAtRest: true }
  // Its object stays after an eviction, and uses no volume.
  cluster.put('pods', {
    metadata: {
      ...{ name: 'shop-prod-1', namespace: 'ls-account' },
      labels: { ...labels, 'longshore.dev/environment': 'env_new' },
    },
    status: { phase: 'Failed' },
  })
  await volumes.remove(spec)
  await expect(volumes.load(spec, Readable.from(['x']), new AbortController().signal)).rejects.toThrow(
    'The volume of another environment of this name is being removed',
  )
  expect(cluster.names('')).toEqual(['persistentvolumeclaims shop-prod-data'])
  await volumes.remove({ ...spec, appEnvId: 'env_deleted' })
  expect(cluster.names('')).toEqual([])
})

it('copies beside no container that copied before, also one that has ended', async () => {
  const cluster = new FakeCluster()
  const labels = { 'longshore.dev/installation': 'ins_1', [copyLabel]: 'env_new' }
  const metadata = { name: 'shop-prod-copy-1', namespace: 'ls-account', labels }
  cluster.put('pods', { metadata, status: { phase: 'Failed' } })
  const clock = new TestClock()
  const volumes = new ClusterVolumes({
    ...{ client: cluster.client, clock, installationId: 'ins_1' },
    options: { namespacePrefix: 'ls-', appDomain: 'app.example.com' },
  })
  const mount = { volume: 'data', path: '/data' }
  const spec = { accountId: 'acc_account', envName: 'shop-prod', image: 'shop:1', mount, appEnvId: 'env_new' }
  let problem = ''
  volumes
    .load({ ...spec, isAtRest: true }, Readable.from(['x']), new AbortController().signal)
    .catch((error: Error) => {
      problem = error.message
    })
  await clock.advanceUntil(() => problem !== '', 'the end of the wait', 500)
  expect(problem).toBe('A container that uses the volume does not end')
})
