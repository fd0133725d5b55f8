import type { Engine } from '../../engines/engine.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { Log } from '../../log.ts'
import { Pacer } from '../../pacer.ts'
import type { LogMasks, Origin } from './masks.ts'

/** Where the lines of a container come from. */
type LogSource = Pick<Engine, 'logs'>

interface FollowedPod {
  appEnvId: string
  podName: string
  containerName: string
  contentId: string
  type: 'RUNTIME' | 'JOB'
  origin: Origin
  /** A new container has no kept lines, so the last one need not be looked up. */
  isNew?: boolean
}

const batchMs = 20
/** A mask compares a character at most this many times. */
const comparesPerCharacter = 8
const lastLinesRead = 30
const copyTries = 4
const copyAgainMs = 250

/** Copies container output to the log store with secrets masked, so that it survives the container. */
export class LogFollowers {
  readonly #logs: LogStore
  readonly #masks: LogMasks
  readonly #log: Log
  readonly #active = new Map<string, { controller: AbortController; done: Promise<void> }>()

  constructor(logs: LogStore, masks: LogMasks, log: Log) {
    this.#logs = logs
    this.#masks = masks
    this.#log = log
  }

  /** Follows after the last kept line; following the same container twice has no effect. */
  follow(engine: LogSource, pod: FollowedPod): void {
    if (this.#active.has(pod.containerName)) return
    const controller = new AbortController()
    const done = this.#copyAll(engine, pod, controller.signal).catch((error) => {
      if (!controller.signal.aborted)
        this.#log.warn({ err: error, container: pod.containerName }, 'cannot follow the logs of a container')
    })
    this.#active.set(pod.containerName, { controller, done })
    void done.then(() => this.#active.delete(pod.containerName))
  }

  /** A line of the platform about a container that starts, in the log of its deployment. */
  add({ appEnvId, contentId }: FollowedPod, atMs: number, message: string): void {
    const at = new Date(atMs).toISOString()
    this.#logs.append(appEnvId, [{ at, stream: 'stdout', type: 'BUILD', podName: null, contentId, message }])
  }

  /** The last lines of an ended container, waiting at most `limitMs` until they are kept. */
  async lastLines(pod: FollowedPod, limitMs: number): Promise<string[]> {
    await this.ended(pod.containerName, limitMs)
    const { appEnvId, podName, type } = pod
    const page = await this.#logs.read(appEnvId, { type, podName, size: lastLinesRead }).catch(() => null)
    return page?.logs.map(({ message }) => message) ?? []
  }

  /** Waits at most `limitMs` until the last lines of an ended container are stored, then stops following it. */
  async finish(containerName: string, limitMs: number): Promise<void> {
    await this.ended(containerName, limitMs)
    this.#active.get(containerName)?.controller.abort()
  }

  /** Waits at most `limitMs` until the last lines of an ended container are stored; lines that come later are kept too. */
  async ended(containerName: string, limitMs: number): Promise<void> {
    const active = this.#active.get(containerName)
    if (!active) return
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, limitMs)
    })
    await Promise.race([active.done, limit])
    clearTimeout(timer)
  }

  close(): void {
    for (const { controller } of this.#active.values()) controller.abort()
  }

  /** If the engine interrupts the stream, continues after the last kept line, a few times. */
  async #copyAll(engine: LogSource, pod: FollowedPod, signal: AbortSignal): Promise<void> {
    for (let left = copyTries; ; left -= 1) {
      try {
        return await this.#copy(engine, { ...pod, isNew: pod.isNew === true && left === copyTries }, signal)
      } catch (error) {
        if (signal.aborted || left <= 1) throw error
        await new Promise((resolve) => setTimeout(resolve, copyAgainMs))
      }
    }
  }

  async #copy(engine: LogSource, pod: FollowedPod, signal: AbortSignal): Promise<void> {
    const since = pod.isNew ? null : await this.#logs.lastAt(pod.appEnvId, pod.podName)
    const { appEnvId, podName, contentId, type, origin } = pod
    const mask = await this.#masks.of(appEnvId, origin)
    let batch: Parameters<LogStore['append']>[1][number][] = []
    let timer: NodeJS.Timeout | null = null
    // Programs print as fast as they can.
    const pacer = new Pacer()
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
          message: mask(line.message),
        })
        if (batch.length >= 500) flush()
        else timer ??= setTimeout(flush, batchMs)
        await pacer.after(comparesPerCharacter * line.message.length)
      }
    } finally {
      if (timer) clearTimeout(timer)
      flush()
    }
  }
}
