import type { FakeCluster, FakeObject } from './fake-cluster.ts'

/** Gives each Deployment one pod of its newest version, which runs, or ends again and again if its image is named so. */
export function runDeployments(cluster: FakeCluster): void {
  cluster.deploymentChanged = (now, before) => {
    const { name } = (now ?? before)!.metadata
    const { template, replicas } = (now ?? before)!.spec
    for (const pod of cluster.objects('pods'))
      if (pod.metadata.name.startsWith(`${name}-pod-`)) cluster.drop('pods', pod)
    if (!now || replicas === 0) return
    const isBad = template.spec.containers[0].image.includes('crash')
    cluster.put('pods', podOf(now, isBad))
    const ready = isBad ? 0 : replicas
    const counts = { replicas, updatedReplicas: replicas, availableReplicas: ready }
    cluster.put('deployments', { ...now, status: { observedGeneration: now.metadata.generation, ...counts } })
  }
}

function podOf({ metadata, spec }: FakeObject, isBad: boolean) {
  const { name, namespace, generation } = metadata
  const time = '2026-03-01T12:00:00Z'
  const own = { name: `${name}-pod-${generation}`, labels: spec.template.metadata.labels }
  const ended = { exitCode: 1, reason: 'Error', startedAt: time, finishedAt: time }
  const container = isBad
    ? { ready: false, restartCount: 3, state: { waiting: { reason: 'CrashLoopBackOff' } } }
    : { ready: true, restartCount: 0, state: { running: { startedAt: time } } }
  return {
    metadata: { ...own, creationTimestamp: time, ...(namespace === undefined ? {} : { namespace }) },
    spec: { nodeName: 'node-1' },
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'app', ...container, lastState: isBad ? { terminated: ended } : {} }],
    },
  }
}
