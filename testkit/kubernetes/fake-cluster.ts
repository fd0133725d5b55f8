import { isDeepStrictEqual } from 'node:util'
import { ApiRefusal, type ClusterConfig } from '../../src/regions/kubernetes/api-server.ts'
import { ClusterClient } from '../../src/regions/kubernetes/client.ts'

export interface FakeObject {
  metadata: {
    name: string
    namespace?: string
    uid: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
    ownerReferences?: { uid: string; controller?: boolean }[]
    deletionTimestamp?: string
    generation: number
    resourceVersion: string
    managedFields?: object[]
  }
  // biome-ignore lint/suspicious/noExplicitAny: objects of many kinds
  [key: string]: any
}

interface NewObject {
  metadata: Partial<FakeObject['metadata']> & { name: string }
  [key: string]: unknown
}

interface Place {
  collection: string
  namespace: string
  name: string | undefined
}

type Query = Record<string, string>

/**
 * An API server with what the region needs of it: server-side apply, lists by label, watches, deletion with owners,
 * preconditions and finalizers.
 */
export class FakeCluster {
  readonly client: ClusterClient = new FakeClient(this)
  /** Keys of objects that stay when they are deleted, as a volume does while a pod uses it. */
  readonly held = new Set<string>()
  /** Called before each call that changes something, such as `PATCH deployments shop-prod`. */
  before: (call: string) => Promise<void> | void = () => {}
  /** Called after a Deployment was applied or removed: plays its controller. */
  deploymentChanged: (now: FakeObject | null, before: FakeObject | null) => void = () => {}
  readonly #objects = new Map<string, FakeObject>()
  readonly #log: { collection: string; version: number; event: object }[] = []
  readonly #wakes = new Set<() => void>()
  #version = 1

  /** Such as `deployments shop-prod`, ordered by name; namespaces and their limits are left out. */
  names(selector = 'longshore.dev/environment'): string[] {
    const found = [...this.#objects].filter(
      ([key, object]) => !key.startsWith('pods ') && matches(object, selector),
    )
    return found.map(([key, { metadata }]) => `${key.split(' ')[0]} ${metadata.name}`).sort()
  }

  /** `key`: such as `persistentvolumeclaims shop-prod-data`. */
  find(key: string): FakeObject | undefined {
    const [collection = '', name] = key.split(' ')
    return this.objects(collection).find(({ metadata }) => metadata.name === name)
  }

  objects(collection: string): FakeObject[] {
    return [...this.#objects].flatMap(([key, object]) => (key.startsWith(`${collection} `) ? object : []))
  }

  /** Adds or changes an object, as a controller of the cluster does. */
  put(collection: string, object: NewObject): FakeObject {
    const { namespace = '', name } = object.metadata
    const key = `${collection} ${namespace}/${name}`
    const before = this.#objects.get(key)
    this.#version += 1
    const resourceVersion = String(this.#version)
    const own = { uid: `uid-${this.#version}`, generation: 1, ...before?.metadata }
    const stored = structuredClone({ ...object, metadata: { ...own, ...object.metadata, resourceVersion } })
    this.#objects.set(key, stored as FakeObject)
    this.#append(collection, { type: before ? 'MODIFIED' : 'ADDED', object: stored })
    return stored as FakeObject
  }

  /** Ends the wait of a held object. */
  release(key: string): void {
    this.held.delete(key)
    const found = this.find(key)
    if (found?.metadata.deletionTimestamp) this.drop(key.split(' ')[0]!, found)
  }

  drop(collection: string, object: FakeObject): void {
    const { namespace = '', name, uid } = object.metadata
    if (!this.#objects.delete(`${collection} ${namespace}/${name}`)) return
    this.#version += 1
    const metadata = { ...object.metadata, resourceVersion: String(this.#version) }
    this.#append(collection, { type: 'DELETED', object: { ...object, metadata } })
    if (collection === 'deployments') this.deploymentChanged(null, object)
    for (const [key, one] of this.#objects)
      if (one.metadata.ownerReferences?.some((owner) => owner.uid === uid)) this.drop(key.split(' ')[0]!, one)
  }

  async getJson<T>(path: string, query: Query): Promise<T> {
    const { collection, name } = placeOf(path)
    if (name === undefined) {
      const items = this.objects(collection).filter((one) => matches(one, query.labelSelector ?? ''))
      if (items.length === 0 && !watched.has(collection)) throw new ApiRefusal(404, `no ${path}`)
      return structuredClone({ metadata: { resourceVersion: String(this.#version) }, items }) as T
    }
    return structuredClone(this.#require(path)) as T
  }

  getMetadata<T>(path: string): Promise<T> {
    return this.getJson(path, {})
  }

  async listMetadata<T>(path: string, query: Query): Promise<T> {
    const { collection } = placeOf(path)
    if (collection === 'secrets') throw new ApiRefusal(403, 'secrets may not be listed')
    const items = this.objects(collection).filter((one) => matches(one, query.labelSelector ?? ''))
    return structuredClone({ metadata: {}, items }) as T
  }

  async change<T>(
    method: 'PATCH' | 'DELETE',
    path: string,
    _query: Query,
    body?: { type: string; text: string },
  ): Promise<T> {
    const place = placeOf(path)
    await this.before(`${method} ${place.collection} ${place.name}`)
    const given = JSON.parse(body?.text ?? '{}')
    if (method === 'DELETE') this.#delete(place, this.#require(path), given.preconditions?.uid)
    else if (body?.type.startsWith('application/apply')) return this.#apply(place, given) as T
    else if (Object.keys(given).length > 0) throw new Error('no such patch here')
    else return structuredClone(this.#require(path)) as T
    return {} as T
  }

  async *lines(path: string, query: Query, signal: AbortSignal): AsyncIterable<string> {
    const { collection } = placeOf(path)
    let at = this.#log.findIndex(({ version }) => version > Number(query.resourceVersion))
    if (at < 0) at = this.#log.length
    let wake = () => {}
    signal.addEventListener('abort', () => wake(), { once: true })
    while (!signal.aborted) {
      const entry = this.#log[at]
      if (entry) at += 1
      else {
        const woken = new Promise<void>((resolve) => {
          wake = resolve
        })
        this.#wakes.add(() => wake())
        await woken
      }
      const { object } = (entry?.event ?? {}) as { object?: FakeObject }
      if (entry?.collection === collection && object && matches(object, query.labelSelector ?? ''))
        yield JSON.stringify(entry.event)
    }
  }

  #apply(place: Place, given: FakeObject): FakeObject {
    const { collection, namespace, name } = place
    if (namespace !== '' && !this.find(`namespaces ${namespace}`)) throw new ApiRefusal(404, 'no namespace')
    const before = this.#objects.get(`${collection} ${namespace}/${name}`)
    const isOther = !isDeepStrictEqual(before?.spec?.selector, given.spec?.selector)
    if (before && isOther && collection === 'deployments')
      throw new ApiRefusal(422, 'spec.selector: field is immutable')
    const isSame =
      before && isDeepStrictEqual({ ...before, ...given, metadata: 0 }, { ...before, metadata: 0 })
    const generation = (before?.metadata.generation ?? 0) + (isSame ? 0 : 1)
    const managedFields = [{ manager: 'longshore', time: String(this.#version) }]
    const metadata = { ...given.metadata, generation, managedFields }
    const stored = this.put(collection, { status: before?.status, ...given, metadata })
    if (collection === 'deployments' && !isSame) this.deploymentChanged(stored, before ?? null)
    return structuredClone(stored)
  }

  #delete({ collection, name }: Place, object: FakeObject, uid: string | undefined): void {
    if (uid !== undefined && uid !== object.metadata.uid) throw new ApiRefusal(409, 'another uid')
    const metadata = { ...object.metadata, deletionTimestamp: '2026-03-01T12:00:00Z' }
    if (this.held.has(`${collection} ${name}`)) this.put(collection, { ...object, metadata })
    else this.drop(collection, object)
  }

  #require(path: string): FakeObject {
    const { collection, namespace, name } = placeOf(path)
    const found = this.#objects.get(`${collection} ${namespace}/${name}`)
    if (!found) throw new ApiRefusal(404, `no ${path}`)
    return found
  }

  #append(collection: string, event: object): void {
    this.#log.push({ collection, version: this.#version, event: structuredClone(event) })
    for (const wake of this.#wakes) wake()
    this.#wakes.clear()
  }
}

class FakeClient extends ClusterClient {
  readonly #cluster: FakeCluster

  constructor(cluster: FakeCluster) {
    super({})
    this.#cluster = cluster
  }

  override get config(): ClusterConfig {
    return this.#cluster as unknown as ClusterConfig
  }
}

/** Kinds whose empty list is no error; those of extensions are not here. */
const watched = new Set(['deployments', 'statefulsets', 'pods', 'jobs'])

function placeOf(path: string): Place {
  const parts = path.split('/').slice(path.startsWith('apis/') ? 3 : 2)
  const isNamespaced = parts[0] === 'namespaces' && parts.length > 2
  const [collection = '', name] = isNamespaced ? parts.slice(2) : parts
  return { collection, namespace: isNamespaced ? parts[1]! : '', name }
}

function matches({ metadata }: FakeObject, selector: string): boolean {
  return selector.split(',').every((one) => {
    const [key = '', value] = one.split('=')
    const found = metadata.labels?.[key]
    return one === '' || (value === undefined ? found !== undefined : found === value)
  })
}
