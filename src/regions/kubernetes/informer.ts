import type { Clock } from '../../clock.ts'
import { raceAbort } from '../../race-abort.ts'
import { Worker } from '../../worker.ts'
import { ApiRefusal, type ClusterConfig } from './api-server.ts'

/** Objects in one response. */
const pageSize = '500'
/** The server ends a watch after this time, and the informer starts a new one. */
const watchSeconds = '300'
const retryMs = 500
const longestRetryMs = 5_000

interface Metadata {
  name: string
  namespace?: string
  resourceVersion?: string
}

/** The fields of an object that an informer needs. */
export interface Watched {
  metadata: Metadata
}

interface Page<T> {
  metadata: { resourceVersion: string; continue?: string }
  items: T[]
}

type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; object: Watched }
  | { type: 'ERROR'; object: { code?: number; message?: string } }

interface InformerOptions<T> {
  clock: Clock
  server: () => Pick<ClusterConfig, 'getJson' | 'lines'>
  /** Path of the collection, such as `apis/apps/v1/deployments`. */
  path: string
  labelSelector: string
  /** Absent: every object with the labels. */
  accepts?(object: T): boolean
  /** The part of an object that is kept: a cache of whole objects would be many times larger. */
  keep(object: T): T
  /** With the object as it was before; null: it is new, or gone. */
  changed(now: T | null, before: T | null): void
  /** It lost the server, or has it again: `problem` is new. */
  stateChanged(): void
  random?: () => number
}

/** The first list is on its way. */
export class NotListed extends Error {}

/**
 * The objects of one kind with the labels, as the API server has them: a list by pages, then a watch from there. A watch
 * that ends is resumed at the last event. If the server no longer has that (410 Gone), the list is read again and compared,
 * so that missed events count as changes.
 */
export class Informer<T extends Watched> {
  readonly #options: InformerOptions<T>
  readonly #worker: Worker
  readonly #stop = new AbortController()
  readonly #objects = new Map<string, T>()
  #resourceVersion: string | null = null
  #problem: unknown = new NotListed()

  constructor(options: InformerOptions<T>) {
    this.#options = options
    this.#worker = new Worker({
      ...{ clock: options.clock, retryMs, longestRetryMs },
      ...(options.random ? { random: options.random } : {}),
      pass: () => this.#pass(),
      failed: (error) => this.#setProblem(error),
    })
  }

  start(): void {
    this.#worker.wake()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#worker.stop()
  }

  /** Null while `objects` follows the server; otherwise why it may be old. */
  get problem(): unknown {
    return this.#problem
  }

  get objects(): Iterable<T> {
    return this.#objects.values()
  }

  async #pass(): Promise<void> {
    try {
      if (this.#resourceVersion === null) await this.#list()
      this.#setProblem(null)
      await this.#watch()
      // The server ended the watch, as it does from time to time.
      this.#worker.wake()
    } catch (error) {
      if (this.#stop.signal.aborted) return
      if (isGone(error)) this.#resourceVersion = null
      throw error
    }
  }

  async #list(): Promise<void> {
    const { server, path, labelSelector, keep } = this.#options
    const { accepts = () => true } = this.#options
    const found = new Map<string, T>()
    let from = ''
    let resourceVersion = ''
    do {
      const position: Record<string, string> = from === '' ? {} : { continue: from }
      const query = { labelSelector, limit: pageSize, ...position }
      const page = await raceAbort(server().getJson<Page<T>>(path, query), this.#stop.signal)
      for (const object of page.items.filter(accepts)) found.set(keyOf(object), keep(object))
      resourceVersion = page.metadata.resourceVersion
      from = page.metadata.continue ?? ''
    } while (from !== '')
    for (const [key, object] of this.#objects) if (!found.has(key)) this.#set(key, null, object)
    for (const [key, object] of found) this.#set(key, object, this.#objects.get(key) ?? null)
    this.#resourceVersion = resourceVersion
  }

  async #watch(): Promise<void> {
    const { server, path, labelSelector } = this.#options
    const query = {
      ...{ labelSelector, watch: 'true', allowWatchBookmarks: 'true', timeoutSeconds: watchSeconds },
      resourceVersion: this.#resourceVersion ?? '',
    }
    for await (const line of server().lines(path, query, this.#stop.signal))
      if (line !== '') this.#take(JSON.parse(line) as WatchEvent<T>)
  }

  #take(event: WatchEvent<T>): void {
    if (event.type === 'ERROR') throw new ApiRefusal(event.object.code ?? 500, event.object.message ?? '')
    const { resourceVersion } = event.object.metadata
    const { accepts = () => true } = this.#options
    if (event.type !== 'BOOKMARK' && accepts(event.object)) {
      const key = keyOf(event.object)
      const now = event.type === 'DELETED' ? null : this.#options.keep(event.object)
      this.#set(key, now, this.#objects.get(key) ?? null)
    }
    if (resourceVersion) this.#resourceVersion = resourceVersion
  }

  #set(key: string, now: T | null, before: T | null): void {
    if (now && before && now.metadata.resourceVersion === before.metadata.resourceVersion) return
    if (now) this.#objects.set(key, now)
    else this.#objects.delete(key)
    if (now || before) this.#options.changed(now, before)
  }

  #setProblem(problem: unknown): void {
    const isNews = (problem === null) !== (this.#problem === null)
    this.#problem = problem
    if (isNews) this.#options.stateChanged()
  }
}

function keyOf({ metadata }: Watched): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`
}

function isGone(error: unknown): boolean {
  return error instanceof ApiRefusal && error.status === 410
}
