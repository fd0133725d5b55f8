/** In order of urgency: changes by users, reports of the cluster, periodic comparisons. */
const urgencies = ['user', 'cluster', 'background'] as const
type Urgency = (typeof urgencies)[number]

interface Item<Task> {
  task: Task
  urgency: Urgency
  done: Promise<void>
  finish(): void
}

interface WorkQueueOptions<Task> {
  lanes: number
  /** The most lanes that background tasks may take, so that they never keep a change waiting in all lanes. */
  backgroundLanes: number
  /** Never rejects. */
  work(key: string, task: Task): Promise<void>
  /** One task for a key that waits with two. */
  merge(before: Task, now: Task): Task
}

/**
 * Works through keys by urgency, several at a time but each key only once at a time. A key that is added again while it
 * waits is still worked on once; a key that is added while it is worked on is worked on once more afterwards.
 */
export class WorkQueue<Task> {
  readonly #options: WorkQueueOptions<Task>
  readonly #waiting: Record<Urgency, Map<string, Item<Task>>> = {
    user: new Map(),
    cluster: new Map(),
    background: new Map(),
  }
  readonly #running = new Map<string, Item<Task>>()
  #isOpen = false
  #isEnded = false
  /** Ends the waits of `caughtUp`. */
  #interrupt = () => {}

  constructor(options: WorkQueueOptions<Task>) {
    this.#options = options
  }

  add(key: string, urgency: Urgency, task: Task): void {
    const before = urgencies.flatMap((one) => this.#waiting[one].get(key) ?? [])[0]
    const item = before ?? newItem(urgency, task)
    if (before) before.task = this.#options.merge(before.task, task)
    if (urgencies.indexOf(urgency) < urgencies.indexOf(item.urgency)) {
      this.#waiting[item.urgency].delete(key)
      item.urgency = urgency
    }
    this.#waiting[item.urgency].set(key, item)
    this.#fill()
  }

  /** Starts work on queued tasks. */
  open(): void {
    this.#isOpen = !this.#isEnded
    this.#fill()
  }

  /** Starts nothing more; queued work stays queued. */
  close(): void {
    this.#isOpen = false
    this.#interrupt()
  }

  /** Resolves when all tasks that are urgent now are done, or when the queue is closed. */
  async caughtUp(): Promise<void> {
    if (!this.#isOpen) return
    const { user, cluster } = this.#waiting
    const urgent = [...this.#running.values()].filter(({ urgency }) => urgency !== 'background')
    const all = [...urgent, ...user.values(), ...cluster.values()].map(({ done }) => done)
    const interrupted = new Promise<void>((resolve) => (this.#interrupt = resolve))
    await Promise.race([Promise.all(all), interrupted])
  }

  /** Closes for good; resolves when running tasks have ended. */
  async end(): Promise<void> {
    this.#isEnded = true
    this.close()
    await Promise.all([...this.#running.values()].map(({ done }) => done))
  }

  #fill(): void {
    while (this.#isOpen && this.#running.size < this.#options.lanes) {
      const next = this.#next()
      if (!next) return
      void this.#work(...next)
    }
  }

  #next(): [string, Item<Task>] | null {
    const inBackground = [...this.#running.values()].filter(({ urgency }) => urgency === 'background').length
    for (const urgency of urgencies) {
      if (urgency === 'background' && inBackground >= this.#options.backgroundLanes) continue
      for (const [key, item] of this.#waiting[urgency]) if (!this.#running.has(key)) return [key, item]
    }
    return null
  }

  async #work(key: string, item: Item<Task>): Promise<void> {
    this.#waiting[item.urgency].delete(key)
    this.#running.set(key, item)
    await this.#options.work(key, item.task)
    this.#running.delete(key)
    item.finish()
    this.#fill()
  }
}

function newItem<Task>(urgency: Urgency, task: Task): Item<Task> {
  let finish = () => {}
  const done = new Promise<void>((resolve) => (finish = resolve))
  return { task, urgency, done, finish }
}
