import type { Engine } from '../engines/engine.ts'
import type { Log } from '../log.ts'
import type { LogStore } from '../store/log-store.ts'

export interface FollowedPod {
  appEnvId: string
  podName: string
  containerName: string
  contentId: string
  type: 'RUNTIME' | 'JOB'
  /** Nothing of it can have been kept yet, so nobody has to look for its last line. */
  isNew?: boolean
}

const batchMs = 20
const copyTries = 4
const copyAgainMs = 250

/** Copies what containers write into the log store, so that it is there when the container is gone. */
export class LogFollowers {
  readonly #logs: LogStore
  readonly #log: Log
  readonly #active = new Map<string, { controller: AbortController; done: Promise<void> }>()

  constructor(logs: LogStore, log: Log) {
    this.#logs = logs
    this.#log = log
  }

  /** Follows from the last kept line on; following the same container twice is one following. */
  follow(engine: Engine, pod: FollowedPod): void {
    if (this.#active.has(pod.containerName)) return
    const controller = new AbortController()
    const done = this.#copyAll(engine, pod, controller.signal).catch((error) => {
      if (!controller.signal.aborted)
        this.#log.warn({ err: error, container: pod.containerName }, 'logs cannot be followed')
    })
    this.#active.set(pod.containerName, { controller, done })
    void done.then(() => this.#active.delete(pod.containerName))
  }

  /** Waits until an ended container's last lines are kept, for at most `limitMs`. */
  async finish(containerName: string, limitMs: number): Promise<void> {
    const active = this.#active.get(containerName)
    if (!active) return
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs)
    })
    await Promise.race([active.done, limit])
    clearTimeout(timer)
    active.controller.abort()
  }

  close(): void {
    for (const { controller } of this.#active.values()) controller.abort()
  }

  /** A follower cut off by the engine goes on from the last kept line, a few times. */
  async #copyAll(engine: Engine, pod: FollowedPod, signal: AbortSignal): Promise<void> {
    for (let left = copyTries; ; left -= 1) {
      try {
        return await this.#copy(engine, { ...pod, isNew: pod.isNew === true && left === copyTries }, signal)
      } catch (error) {
        if (signal.aborted || left <= 1) throw error
        await new Promise((resolve) => setTimeout(resolve, copyAgainMs))
      }
    }
  }

  async #copy(engine: Engine, pod: FollowedPod, signal: AbortSignal): Promise<void> {
    const since = pod.isNew ? null : await this.#logs.lastAt(pod.appEnvId, pod.podName)
    const { appEnvId, podName, contentId, type } = pod
    let batch: Parameters<LogStore['append']>[1][number][] = []
    let timer: NodeJS.Timeout | null = null
    const flush = () => {
      timer = null
      if (batch.length > 0) this.#logs.append(appEnvId, batch)
      batch = []
    }
    try {
      for await (const line of engine.logs(pod.containerName, { since, follow: true, signal })) {
        batch.push({
          at: line.timestamp,
          stream: line.stream,
          type,
          podName,
          contentId,
          message: line.message,
        })
        if (batch.length >= 500) flush()
        else timer ??= setTimeout(flush, batchMs)
      }
    } finally {
      if (timer) clearTimeout(timer)
      flush()
    }
  }
}
