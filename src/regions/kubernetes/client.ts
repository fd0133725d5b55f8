import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import {
  ApiException,
  BatchV1Api,
  CoreV1Api,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  PatchStrategy,
} from '@kubernetes/client-node'
import { AppError } from '../../errors.ts'
import type { JobCluster } from './jobs/cluster.ts'
import type { JobObject, PodObject } from './jobs/status.ts'

const fieldManager = 'longshore'
/** Objects in one response. */
const pageSize = 500
const apiVersions = { Job: 'batch/v1', Secret: 'v1', Pod: 'v1' } as const

interface Page<T> {
  items: T[]
  metadata?: { _continue?: string | undefined } | undefined
}

/** Calls to the API server of one cluster. Failures other than a missing object are `AppError('unavailable')`. */
export class ClusterClient implements JobCluster {
  readonly #objects: KubernetesObjectApi
  readonly #batch: BatchV1Api
  readonly #core: CoreV1Api
  readonly #log: Log

  constructor(config: KubeConfig) {
    this.#objects = KubernetesObjectApi.makeApiClient(config)
    this.#batch = config.makeApiClient(BatchV1Api)
    this.#core = config.makeApiClient(CoreV1Api)
    this.#log = new Log(config)
  }

  /** `kubeconfig` absent: the cluster this process runs in; `context` absent: the file's current one. */
  static open({ kubeconfig, context }: { kubeconfig?: string; context?: string }): ClusterClient {
    const config = new KubeConfig()
    if (kubeconfig === undefined) config.loadFromCluster()
    else config.loadFromFile(kubeconfig)
    if (context !== undefined) config.setCurrentContext(context)
    return new ClusterClient(config)
  }

  async apply(object: object): Promise<void> {
    await called(
      this.#objects.patch(object, undefined, undefined, fieldManager, true, PatchStrategy.ServerSideApply),
    )
  }

  listJobs(labelSelector: string): Promise<JobObject[]> {
    return allPages<JobObject>(
      (_continue) =>
        this.#batch.listJobForAllNamespaces({ labelSelector, limit: pageSize, ..._continue }) as never,
    )
  }

  listPods(labelSelector: string): Promise<PodObject[]> {
    return allPages<PodObject>(
      (_continue) =>
        this.#core.listPodForAllNamespaces({ labelSelector, limit: pageSize, ..._continue }) as never,
    )
  }

  async delete(
    kind: keyof typeof apiVersions,
    namespace: string,
    name: string,
    graceSeconds?: number,
  ): Promise<void> {
    const object = { apiVersion: apiVersions[kind], kind, metadata: { namespace, name } }
    const removal = this.#objects.delete(object, undefined, undefined, graceSeconds, undefined, 'Background')
    await called(
      removal.catch((error) => {
        if (!(error instanceof ApiException) || error.code !== 404) throw error
      }),
    )
  }

  async *podLog(
    { namespace, name, container }: { namespace: string; name: string; container: string },
    { since, follow, signal }: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<string> {
    const stream = new PassThrough()
    const options = { follow, timestamps: true, ...(since === null ? {} : { sinceTime: since }) }
    const request = await called(this.#log.log(namespace, name, container, stream, options))
    const end = () => {
      request.abort()
      stream.end()
    }
    signal.addEventListener('abort', end, { once: true })
    try {
      yield* createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })
    } finally {
      signal.removeEventListener('abort', end)
      end()
    }
  }
}

async function allPages<T>(read: (from: { _continue?: string }) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = []
  let from: { _continue?: string } = {}
  do {
    const page = await called(read(from))
    items.push(...page.items)
    from = page.metadata?._continue ? { _continue: page.metadata._continue } : {}
  } while (from._continue)
  return items
}

async function called<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    const status = cause instanceof ApiException ? cause.code : null
    throw new AppError('unavailable', 'The cluster cannot be used', {
      details:
        status === null
          ? 'Its API server does not respond. The operator finds the reason in the log of the server.'
          : `Its API server answers with status ${status}. The operator finds the reason in the log of the server.`,
      cause,
    })
  }
}
