import { addAbortListener } from 'node:events'
import { PassThrough } from 'node:stream'
import { ApiException, Exec, Log } from '@kubernetes/client-node'
import { linesIn } from '../../engines/line-splitter.ts'
import { AppError } from '../../errors.ts'
import { raceAbort } from '../../race-abort.ts'
import { ApiRefusal, ClusterConfig } from './api-server.ts'
import { type Kind, kindOf, pathOf } from './kinds.ts'
import type { Manifest } from './manifests/workload.ts'

const fieldManager = 'longshore'
/** Objects in one response. */
const pageSize = '500'

interface Page<T> {
  /** Null in an empty list of metadata. */
  items: T[] | null
  metadata: { continue?: string }
}

/** The fields that are read of an applied object: its identity, its owner, and the times and authors of writes to it. */
export interface ObjectMetadata {
  name: string
  namespace?: string
  uid: string
  labels?: Record<string, string>
  ownerReferences?: { controller?: boolean }[]
  /** Set: the object is being deleted, and disappears once its last user is gone. */
  deletionTimestamp?: string
  generation?: number
  managedFields?: { manager: string; time?: string; subresource?: string }[]
}

/** The part of a pod's WebSocket that is used; the library's type lacks the methods of Node's own. */
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

interface Place {
  namespace: string
  name: string
}

interface PodSource extends Place {
  container: string
}

/**
 * Calls to the API server of one cluster. A failure other than a missing object is an `AppError('unavailable')`: the
 * caller tries again.
 */
export class ClusterClient {
  readonly #source: CredentialSource
  #opened: ClusterConfig | null = null

  /** Reads the credentials with the first call, so that missing credentials only make this cluster unreachable. */
  constructor(source: CredentialSource) {
    this.#source = source
  }

  /** For calls that have no method here. */
  get config(): ClusterConfig {
    this.#opened ??= configOf(this.#source)
    return this.#opened
  }

  /** The next call reads the credentials again, which may have been replaced. */
  forgetCredentials(): void {
    this.#opened = null
  }

  /** Server-side apply under Longshore's field manager: reverts changes by others to its fields. */
  async apply(object: Manifest): Promise<ObjectMetadata> {
    const { namespace, name } = object.metadata
    const path = pathOf(kindOf(object), namespace, name)
    const body = { type: 'application/apply-patch+yaml', text: JSON.stringify(object) }
    const query = { fieldManager, force: 'true' }
    const change = () => this.config.change<{ metadata: ObjectMetadata }>('PATCH', path, query, body)
    return (await called(change)).metadata
  }

  /** Every object of a kind with the labels, in all namespaces, page by page. */
  async list<T>(kind: Kind, labelSelector: string): Promise<T[]> {
    const items: T[] = []
    for await (const page of pages(
      (query) => this.config.getJson<Page<T>>(pathOf(kind), query),
      labelSelector,
    ))
      items.push(...page)
    return items
  }

  /** As `list`, but only the metadata of each object, and never more than a page at a time. */
  async eachMetadata(
    kind: Kind,
    labelSelector: string,
    take: (metadata: ObjectMetadata) => void,
  ): Promise<void> {
    const read = (query: Record<string, string>) =>
      this.config.listMetadata<Page<{ metadata: ObjectMetadata }>>(pathOf(kind), query)
    for await (const page of pages(read, labelSelector)) for (const { metadata } of page) take(metadata)
  }

  /** Any object of the API by its path. */
  read<T>(path: string): Promise<T> {
    return called(() => this.config.getJson<T>(path, {}))
  }

  /** Whether the cluster has a kind that an extension brings. */
  async has(kind: Kind): Promise<boolean> {
    return (await orMissing(() => this.config.getJson(pathOf(kind), { limit: '1' }))) !== null
  }

  /** Unknown objects are ignored. Dependents of the object are removed in the background. */
  async delete(kind: Kind, namespace: string, name: string, graceSeconds?: number): Promise<void> {
    const grace: Record<string, string> =
      graceSeconds === undefined ? {} : { gracePeriodSeconds: String(graceSeconds) }
    const query = { propagationPolicy: 'Background', ...grace }
    await orMissing(() => this.config.change('DELETE', pathOf(kind, namespace, name), query))
  }

  /** Deletes exactly this object: a later object of the same name stays, and a missing one is ignored. */
  async deleteOne(kind: Kind, { namespace = '', name, uid }: ObjectMetadata): Promise<void> {
    const options = { propagationPolicy: 'Background', preconditions: { uid } }
    const body = { type: 'application/json', text: JSON.stringify(options) }
    const change = () => this.config.change('DELETE', pathOf(kind, namespace, name), {}, body)
    await orMissing(change, [404, 409])
  }

  /** The metadata of an object; null if there is none. For a Secret this needs no permission to read. */
  async identify(kind: Kind, namespace: string, name: string): Promise<ObjectMetadata | null> {
    const path = pathOf(kind, namespace, name)
    const found = await orMissing(() =>
      kind === 'Secret'
        ? this.config.change<{ metadata: ObjectMetadata }>('PATCH', path, {}, mergePatch({}))
        : this.config.getMetadata<{ metadata: ObjectMetadata }>(path),
    )
    return found?.metadata ?? null
  }

  annotate(kind: Kind, { namespace, name }: Place, annotations: Record<string, string>): Promise<void> {
    return this.#merge(pathOf(kind, namespace, name), { metadata: { annotations } })
  }

  /** Lets a pod start that waits for it. */
  openGates({ namespace, name }: Place): Promise<void> {
    return this.#merge(pathOf('Pod', namespace, name), { spec: { schedulingGates: null } })
  }

  /** Changes fields of an object; a missing object is ignored. */
  async #merge(path: string, fields: object): Promise<void> {
    await orMissing(() => this.config.change('PATCH', path, {}, mergePatch(fields)))
  }

  /**
   * Opens a connection with channels to a pod, such as its `exec`; `onFrame` gets the output of each channel. `signal`
   * ends the opening only.
   */
  async podSocket(
    { namespace, name }: Place,
    command: string,
    onFrame: (channel: number, data: Buffer) => void,
    signal: AbortSignal,
  ): Promise<PodSocket> {
    const path = `/api/v1/namespaces/${namespace}/pods/${name}/${command}`
    const opened = new Exec(this.config).handler.connect(path, null, (channel, data) => {
      onFrame(channel, data)
      return true
    })
    return await called(() =>
      raceAbort(opened as unknown as Promise<PodSocket>, signal, (late) => late.terminate()),
    )
  }

  /** Lines as `<time> <text>`; with `follow`, until the container ends or the signal aborts. */
  async *podLog(
    { namespace, name, container }: PodSource,
    { since, follow, signal }: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<string> {
    const stream = new PassThrough()
    const options = { follow, timestamps: true, ...(since === null ? {} : { sinceTime: since }) }
    const log = new Log(this.config)
    const request = await called(() => log.log(namespace, name, container, stream, options))
    const end = () => {
      request.abort()
      stream.end()
    }
    const stopping = addAbortListener(signal, end)
    try {
      yield* linesIn(stream)
    } finally {
      stopping[Symbol.dispose]()
      end()
    }
  }
}

/** The status with which the API server refused a call; null for another error. */
export function refusalOf(error: unknown): { status: number; reason: string } | null {
  const cause = error instanceof AppError ? error.cause : error
  return cause instanceof ApiRefusal ? { status: cause.status, reason: cause.message } : null
}

/** The items of each page of a list. */
async function* pages<T>(
  read: (query: Record<string, string>) => Promise<Page<T>>,
  labelSelector: string,
): AsyncIterable<T[]> {
  let from: string | undefined = ''
  while (from !== undefined) {
    const position: Record<string, string> = from === '' ? {} : { continue: from }
    const page: Page<T> = await called(() => read({ labelSelector, limit: pageSize, ...position }))
    yield page.items ?? []
    from = page.metadata.continue || undefined
  }
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

async function called<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    throw clusterAway(cause)
  }
}

/** Null for a missing object or kind: the cluster answers with one of these statuses. */
async function orMissing<T>(call: () => Promise<T>, statuses: readonly number[] = [404]): Promise<T | null> {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof ApiRefusal && statuses.includes(cause.status)) return null
    throw clusterAway(cause)
  }
}

function mergePatch(fields: object) {
  return { type: 'application/merge-patch+json', text: JSON.stringify(fields) }
}
