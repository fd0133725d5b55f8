import { clusterNamespace } from '../../src/domain/environments/cluster-names.ts'
import { median } from '../../testkit/figures.ts'
import { cluster, kubectl } from '../../testkit/kubernetes/cluster.ts'
import type { ClusterInstallation } from '../../testkit/kubernetes/cluster-installation.ts'
import { untilRead } from '../../testkit/until.ts'
import { deployed, onCluster, pause, timed } from './on-cluster.ts'

const image = () => `${cluster.registry}/demo/echo:1`
const windows = ['scale-to-zero-grace-period', 'stable-window'] as const

interface KnativeService {
  metadata: { name: string; namespace: string; annotations?: Record<string, string> }
  spec: { template: { metadata: { annotations?: object }; spec: { containers: Record<string, unknown>[] } } }
}

interface Pair {
  installation: ClusterInstallation
  /** Hosts of the same service: by Longshore, and by kubectl. */
  ours: string
  plain: string
}

/** Knative's windows as short as it allows, for the time of the work: 20 ways to zero would take half an hour. */
async function withShortWindows<T>(work: () => Promise<T>): Promise<T> {
  const configMap = ['-n', 'knative-serving', 'configmap', 'config-autoscaler']
  const patch = (data: object) =>
    kubectl(['patch', ...configMap, '--type', 'merge', '-p', JSON.stringify({ data })])
  const before = JSON.parse(await kubectl(['get', ...configMap, '-o', 'json'])) as {
    data?: Record<string, string>
  }
  await patch(Object.fromEntries(windows.map((name) => [name, '6s'])))
  try {
    return await work()
  } finally {
    await patch(Object.fromEntries(windows.map((name) => [name, before.data?.[name] ?? null])))
  }
}

/** A function of Longshore, and the same Knative Service with the same settings applied with kubectl. */
function withPair<T>(functionConfig: object, work: (pair: Pair) => Promise<T>): Promise<T> {
  return onCluster(async (installation) => {
    const settings = { functionConfig }
    const ours = await deployed(installation, { name: 'cold', image: image(), isFunction: true, settings })
    const namespace = clusterNamespace(installation.namespacePrefix, installation.ready.accountId)
    const name = ours.host.split('.')[0]!
    const own = JSON.parse(
      await kubectl(['get', 'ksvc', name, '-n', namespace, '-o', 'json']),
    ) as KnativeService
    const other = `${installation.namespacePrefix}plain`
    await kubectl(['create', 'namespace', other])
    const { template } = own.spec
    const containers = template.spec.containers.map(({ envFrom: _, ...container }) => container)
    await kubectl(['apply', '-f', '-'], {
      ...{ apiVersion: 'serving.knative.dev/v1', kind: 'Service', metadata: { name, namespace: other } },
      // Without the labels by which Longshore knows its own.
      spec: {
        template: {
          metadata: { annotations: template.metadata.annotations },
          spec: { ...template.spec, containers },
        },
      },
    })
    const plain = ours.host.replace(namespace, other)
    await untilRead(
      () => timed(plain),
      ({ status }) => status === 200,
      'the plain service',
    )
    return work({ installation, ours: ours.host, plain })
  })
}

async function untilAtZero({ installation }: Pair): Promise<void> {
  const mine = (line: string) => line.startsWith(installation.namespacePrefix)
  await untilRead(
    async () =>
      (await kubectl(['get', 'pods', '-A', '--no-headers', '-o', 'custom-columns=N:.metadata.namespace']))
        .split('\n')
        .filter(mine),
    (pods) => pods.length === 0,
    'no pod',
    300_000,
  )
}

/** Median of the first answer after zero, of ours and of the plain one, one after the other in turns. */
export function coldStart(rounds = 20): Promise<string[]> {
  return withShortWindows(() =>
    withPair({ idleTimeoutSeconds: 300 }, async (pair) => {
      const taken = { ours: [] as number[], plain: [] as number[] }
      for (let round = 0; round < rounds; round += 1) {
        await untilAtZero(pair)
        const order = round % 2 === 0 ? (['ours', 'plain'] as const) : (['plain', 'ours'] as const)
        for (const which of order) {
          const { status, ms } = await timed(pair[which])
          if (status !== 200) throw new Error(`${which}: ${status}`)
          taken[which].push(ms)
        }
      }
      const ms = (values: number[]) => `${Math.round(median(values))} ms`
      return [
        `${ms(taken.ours)} by Longshore, ${ms(taken.plain)} by kubectl, median of ${rounds}`,
        `${Math.round(median(taken.ours) - median(taken.plain))} ms over it (goal: at most 30)`,
      ]
    }),
  )
}

/** Requests a second with 10 connections, in turns of 5 s. */
export function throughput(turns = 6): Promise<string[]> {
  return withPair({ idleTimeoutSeconds: 300, minScale: 1, maxScale: 1 }, async (pair) => {
    const rates = { ours: [] as number[], plain: [] as number[] }
    for (const which of ['ours', 'plain'] as const) await rate(pair[which], 2_000)
    for (let turn = 0; turn < turns; turn += 1)
      for (const which of ['ours', 'plain'] as const) rates[which].push(await rate(pair[which], 5_000))
    await pause(0)
    const [ours, plain] = [median(rates.ours), median(rates.plain)]
    const difference = (100 * (ours - plain)) / plain
    return [
      `${Math.round(ours)} requests a second by Longshore, ${Math.round(plain)} by kubectl: ${difference.toFixed(1)} % (goal: within 3 %)`,
    ]
  })
}

async function rate(host: string, durationMs: number): Promise<number> {
  const endMs = performance.now() + durationMs
  let answered = 0
  const connection = async () => {
    while (performance.now() < endMs) if ((await timed(host)).status === 200) answered += 1
  }
  await Promise.all(Array.from({ length: 10 }, connection))
  return answered / (durationMs / 1_000)
}
