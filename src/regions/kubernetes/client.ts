import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import {
  ApiException,
  CustomObjectsApi,
  Exec,
  type KubernetesObject,
  KubernetesObjectApi,
  Log,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import { AppError } from '../../errors.ts'
import { ApiRefusal, ClusterConfig } from './api-server.ts'

const fieldManager = 'longshore'
/** Objects in one response. */
const pageSize = 500

/** Kinds that Longshore writes or reads in a cluster, with the version of their API. */
const apiVersions = {
  Namespace: 'v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  ResourceQuota: 'v1',
  LimitRange: 'v1',
  Secret: 'v1',
  Service: 'v1',
  PersistentVolumeClaim: 'v1',
  Pod: 'v1',
  Job: 'batch/v1',
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  PodDisruptionBudget: 'policy/v1',
  Ingress: 'networking.k8s.io/v1',
  HTTPRoute: 'gateway.networking.k8s.io/v1',
  KnativeService: 'serving.knative.dev/v1',
  PostgresCluster: 'postgresql.cnpg.io/v1',
  ImageCatalog: 'postgresql.cnpg.io/v1',
} as const
type Kind = keyof typeof apiVersions

/** The library takes any `Service` for the core one and drops the fields that it does not know, so these calls are plain. */
const knative = { group: 'serving.knative.dev', version: 'v1', plural: 'services' } as const

interface Page {
  items: unknown[]
  metadata?: { _continue?: string; continue?: string }
}

/** What is used of the WebSocket of a pod's channels; the library's type lacks the methods of Node's own. */
export interface PodSocket {
  readonly protocol: string
  send(data: Buffer, done: (error?: Error) => void): void
  pause(): void
  resume(): void
  close(): void
  terminate(): void
  addEventListener(event: 'close' | 'error', listener: () => void): void
}

/** `kubeconfig` absent: the cluster this process runs in; `context` absent: the file's current one. */
interface CredentialSource {
  kubeconfig?: string | undefined
  context?: string | undefined
}

interface Apis {
  config: ClusterConfig
  objects: KubernetesObjectApi
  custom: CustomObjectsApi
  log: Log
}

interface PodSource {
  namespace: string
  name: string
  container: string
}

/**
 * Calls to the API server of one cluster. A failure other than a missing object is an `AppError('unavailable')`: the
 * caller tries again.
 */
export class ClusterClient {
  readonly #source: CredentialSource
  #opened: Apis | null = null

  /** Reads the credentials with the first call, so that a cluster without any is away and nothing else. */
  constructor(source: CredentialSource) {
    this.#source = source
  }

  /** For calls that the library has no plain form of. */
  get config(): ClusterConfig {
    return this.#apis.config
  }

  /** The next call reads the credentials again, which may have been replaced. */
  forgetCredentials(): void {
    this.#opened = null
  }

  get #apis(): Apis {
    this.#opened ??= apisOf(configOf(this.#source))
    return this.#opened
  }

  get #objects(): KubernetesObjectApi {
    return this.#apis.objects
  }

  get #custom(): CustomObjectsApi {
    return this.#apis.custom
  }

  get #log(): Log {
    return this.#apis.log
  }

  /** Server-side apply under Longshore's field manager: repairs what others changed in its fields. */
  async apply(object: object): Promise<void> {
    const strategy = PatchStrategy.ServerSideApply
    const { apiVersion, metadata } = object as KubernetesObject
    if (apiVersion === apiVersions.KnativeService) {
      const target = { ...knative, namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' }
      const request = { ...target, body: object, fieldManager, force: true }
      await called(
        this.#custom.patchNamespacedCustomObject(request, setHeaderOptions('Content-Type', strategy)),
      )
      return
    }
    await called(
      this.#objects.patch(object as KubernetesObject, undefined, undefined, fieldManager, true, strategy),
    )
  }

  /** Every object of a kind with the labels, in all namespaces, page by page. */
  async list<T>(kind: Kind, labelSelector: string): Promise<T[]> {
    const items: T[] = []
    let from: string | undefined
    do {
      const page = await called(this.#page(kind, labelSelector, from))
      items.push(...(page.items as T[]))
      from = page.metadata?._continue || page.metadata?.continue || undefined
    } while (from)
    return items
  }

  #page(kind: Kind, labelSelector: string, from: string | undefined): Promise<Page> {
    const position = from === undefined ? {} : { _continue: from }
    if (kind === 'KnativeService')
      return this.#custom.listClusterCustomObject({ ...knative, labelSelector, limit: pageSize, ...position })
    return this.#objects.list(
      apiVersions[kind],
      nameOf(kind),
      ...([undefined, undefined, undefined, undefined, undefined] as const),
      labelSelector,
      pageSize,
      from,
    )
  }

  /** Any object of the API by its path. */
  read<T>(path: string): Promise<T> {
    return called(Promise.resolve().then(() => this.config.getJson<T>(path, {})))
  }

  /** Whether the cluster has a kind that an extension brings. */
  async has(kind: Kind): Promise<boolean> {
    const named = [undefined, undefined, undefined, undefined, undefined, undefined, 1] as const
    try {
      await this.#objects.list(apiVersions[kind], nameOf(kind), ...named)
      return true
    } catch (error) {
      if (error instanceof ApiException && error.code === 404) return false
      return called(Promise.reject(error))
    }
  }

  /** Unknown objects are ignored. What belongs to the object is removed in the background. */
  async delete(kind: Kind, namespace: string, name: string, graceSeconds?: number): Promise<void> {
    const object = { apiVersion: apiVersions[kind], kind: nameOf(kind), metadata: { namespace, name } }
    const removal = this.#objects.delete(object, undefined, undefined, graceSeconds, undefined, 'Background')
    await called(
      removal.catch((error) => {
        if (!(error instanceof ApiException) || error.code !== 404) throw error
      }),
    )
  }

  /** Opens a connection of channels to a pod, such as its `exec`; `onFrame` gets what comes out of each channel. */
  async podSocket(
    { namespace, name }: Omit<PodSource, 'container'>,
    command: string,
    onFrame: (channel: number, data: Buffer) => void,
  ): Promise<PodSocket> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/${command}`
    const opened = new Exec(this.config).handler.connect(path, null, (channel, data) => {
      onFrame(channel, data)
      return true
    })
    return (await called(opened)) as unknown as PodSocket
  }

  /** Lines as `<time> <text>`; with `follow`, until the container ends or the signal aborts. */
  async *podLog(
    { namespace, name, container }: PodSource,
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

/** The status with which the API server refused a call; null for another error. */
export function refusalOf(error: unknown): { status: number; reason: string } | null {
  const cause = error instanceof AppError ? error.cause : error
  if (!(cause instanceof ApiException)) return null
  return { status: cause.code, reason: messageOf(cause.body) }
}

function messageOf(body: unknown): string {
  try {
    const { message } = (typeof body === 'string' ? JSON.parse(body) : body) as { message?: unknown }
    return typeof message === 'string' ? message : ''
  } catch {
    return ''
  }
}

function apisOf(config: ClusterConfig): Apis {
  const objects = KubernetesObjectApi.makeApiClient(config)
  return { config, objects, custom: config.makeApiClient(CustomObjectsApi), log: new Log(config) }
}

function configOf({ kubeconfig, context }: CredentialSource): ClusterConfig {
  const config = new ClusterConfig()
  try {
    if (kubeconfig === undefined) config.loadFromCluster()
    else config.loadFromFile(kubeconfig)
    if (context !== undefined) config.setCurrentContext(context)
    if (!config.getCurrentCluster()) throw new Error(`no context ${context ?? ''} with a cluster`)
    return config
  } catch (cause) {
    const details =
      kubeconfig === undefined
        ? 'This is no pod of a cluster: set kubeconfig of the region in the configuration file.'
        : `${kubeconfig} is no readable kubeconfig${context === undefined ? '' : ` with the context ${context}`}. Correct kubeconfig and context of the region in the configuration file.`
    throw new AppError('unavailable', 'The credentials of the cluster cannot be read', { details, cause })
  }
}

function nameOf(kind: Kind): string {
  if (kind === 'KnativeService') return 'Service'
  return kind === 'PostgresCluster' ? 'Cluster' : kind
}

/** The failure of a call, for callers; its reason is the `cause`. */
export function clusterAway(cause: unknown): AppError {
  if (cause instanceof AppError) return cause
  const status =
    cause instanceof ApiException ? cause.code : cause instanceof ApiRefusal ? cause.status : null
  return new AppError('unavailable', awayText(status), {
    details: 'Its workloads keep running. The operator finds the reason in the log of the API server.',
    cause,
  })
}

function awayText(status: number | null): string {
  if (status === null) return 'The API server of the cluster does not respond'
  if (status === 401) return 'The API server of the cluster does not accept the credentials of the region'
  if (status === 403) return 'The credentials of the region may not do this in the cluster'
  return `The API server of the cluster answers with status ${status}`
}

async function called<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw clusterAway(cause)
  }
}
