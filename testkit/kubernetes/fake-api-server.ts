import { ApiRefusal } from '../../src/regions/kubernetes/api-server.ts'
import type { Watched } from '../../src/regions/kubernetes/informer.ts'

interface Entry {
  version: number
  line: string
}

interface Follower {
  next: number
  wake(): void
  /** How the server ends the watch; null while it is open. */
  end: 'closed' | 'broken' | null
}

/** One collection of an API server as an informer sees it: versions, pages, watches, and their failures. */
export class FakeApiServer {
  /** The number of objects in each page that was sent. */
  readonly pages: number[] = []
  /** The version from which each watch began. */
  readonly watches: string[] = []
  isAway = false
  #version = 10
  /** Events up to this version are no longer known. */
  #oldest = 0
  readonly #objects = new Map<string, Watched>()
  readonly #log: Entry[] = []
  readonly #followers = new Set<Follower>()

  set(name: string): void {
    const type = this.#objects.has(name) ? 'MODIFIED' : 'ADDED'
    this.#version += 1
    const object = { metadata: { name, namespace: 'n', resourceVersion: String(this.#version) } }
    this.#objects.set(name, object)
    this.#append({ type, object })
  }

  delete(name: string): void {
    this.#version += 1
    this.#objects.delete(name)
    this.#append({
      type: 'DELETED',
      object: { metadata: { name, namespace: 'n', resourceVersion: String(this.#version) } },
    })
  }

  bookmark(): void {
    this.#version += 1
    this.#append({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(this.#version) } } })
  }

  /** Forgets the events so far, as etcd does after five minutes. */
  compact(): void {
    this.#oldest = this.#version
  }

  endWatches(how: 'closed' | 'broken'): void {
    for (const follower of this.#followers) {
      follower.end = how
      follower.wake()
    }
  }

  async getJson<T>(_path: string, query: Record<string, string>): Promise<T> {
    this.#requireHere()
    const [version = String(this.#version), from = '0'] = query.continue?.split(':') ?? []
    if (query.continue && Number(version) < this.#oldest) throw new ApiRefusal(410, 'the token has expired')
    const all = [...this.#objects.values()]
    const end = Number(from) + Number(query.limit)
    const items = all.slice(Number(from), end)
    this.pages.push(items.length)
    const more = end < all.length ? { continue: `${version}:${end}` } : {}
    return { metadata: { resourceVersion: version, ...more }, items } as T
  }

  async *lines(_path: string, query: Record<string, string>, signal: AbortSignal): AsyncIterable<string> {
    this.#requireHere()
    const from = query.resourceVersion ?? ''
    this.watches.push(from)
    if (Number(from) < this.#oldest) {
      yield JSON.stringify({ type: 'ERROR', object: { code: 410, message: 'too old resource version' } })
      return
    }
    let wake = () => {}
    const next = this.#log.findIndex(({ version }) => version > Number(from))
    const follower: Follower = { next: next < 0 ? this.#log.length : next, wake: () => wake(), end: null }
    this.#followers.add(follower)
    signal.addEventListener('abort', () => wake(), { once: true })
    try {
      while (!signal.aborted && follower.end === null) {
        const entry = this.#log[follower.next]
        if (entry) {
          follower.next += 1
          yield entry.line
        } else await new Promise<void>((resolve) => (wake = resolve))
      }
      if (follower.end === 'broken') throw new Error('ECONNRESET')
    } finally {
      this.#followers.delete(follower)
    }
  }

  #append(event: object): void {
    this.#log.push({ version: this.#version, line: JSON.stringify(event) })
    for (const { wake } of this.#followers) wake()
  }

  #requireHere(): void {
    if (this.isAway) throw new Error('ECONNREFUSED')
  }
}
