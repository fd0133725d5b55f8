import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Clock, sleep } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { type Challenge, hostsOf, type Route } from '../control/protocol.ts'
import { isSendable, received, sendable } from '../http/connection-handle.ts'
import type { Peer } from '../http/forwarding.ts'
import type { Handoff } from '../http/proxy-context.ts'
import { findByHost } from '../routing/route-table.ts'
import { Bridge } from './bridge.ts'
import { type FromMember, ownerOf, type ToMember } from './messages.ts'
import type { EnvironmentNews } from './proxy-server.ts'

interface WorkerPoolOptions {
  /** Number of gateway processes, including this one. */
  processes: number
  /** A free path for a Unix socket. */
  bridgePath: string
  /** Script and arguments that run `worker`. */
  command: readonly string[]
  clock: Clock
  log: Log
  /** Serves the environments of this process. */
  own: {
    take(news: EnvironmentNews): void
    serves(appEnvId: string): boolean
    accept(socket: Socket, read: Buffer, peer: Peer): void
  }
  /** Forwards a worker's message to the control plane. */
  report(message: Exclude<FromMember, { type: 'ready' | 'connection' }>): void
}

interface Member {
  /** Number of the process; this process is 0. */
  readonly index: number
  child: ChildProcess | null
  ready: boolean
  restartMs: number
}

const startMs = 10_000
const firstRestartMs = 1_000
const lastRestartMs = 60_000
/** A worker that does not exit in time is killed after this additional delay. */
const leaveGraceMs = 2_000

/**
 * The worker processes of this gateway. Each environment is served by exactly one process, so that its concurrency
 * limit, queue and scale are decided where all its requests are, without shared counters. This process accepts
 * connections and passes each to the process that serves its host.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions
  readonly #members: Member[]
  readonly #bridge: Bridge
  /** The environments of the workers. */
  readonly #routes = new Map<string, { route: Route; member: Member }>()
  readonly #byHost = new Map<string, string>()
  #challenges: Challenge[] = []
  #linked = false
  #leaving = false
  #onGone: () => void = () => {}

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#bridge = new Bridge(options.bridgePath)
    this.#members = Array.from({ length: options.processes - 1 }, (_, index) => {
      return { index: index + 1, child: null, ready: false, restartMs: firstRestartMs }
    })
  }

  /** Resolves when the workers serve; continues without a worker that fails to start. */
  async start(): Promise<void> {
    if (this.#members.length === 0) return
    const all = Promise.all(this.#members.map((member) => this.#spawn(member)))
    await Promise.race([all, sleep(this.#options.clock, startMs)])
  }

  setLinked(linked: boolean): void {
    this.#linked = linked
    for (const member of this.#members) this.#send(member, { type: 'linked', linked })
  }

  /** Sends each process the updates of its own environments. */
  take(news: EnvironmentNews): void {
    switch (news.type) {
      case 'routes':
        this.#replaceAll(news.routes)
        return
      case 'route':
        this.#put(news.route)
        return
      case 'challenges':
        this.#challenges = news.challenges
        this.#options.own.take(news)
        for (const member of this.#members) this.#send(member, news)
        return
      default: {
        const owned = this.#routes.get(news.appEnvId)
        if (owned) this.#send(owned.member, news)
        else this.#options.own.take(news)
        if (news.type === 'route-gone') this.#forget(news.appEnvId)
      }
    }
  }

  /** The handoff for a connection with this host; null if no worker serves it. */
  elsewhere(host: string): Handoff | null {
    const appEnvId = findByHost(this.#byHost, host)
    const member = appEnvId === undefined ? undefined : this.#routes.get(appEnvId)?.member
    return member ? (socket, read, peer) => this.#pass(member, socket, read, peer) : null
  }

  drain(): void {
    this.#leaving = true
    for (const member of this.#members) this.#send(member, { type: 'drain' })
  }

  /** Sends no more connections; resolves when the workers have exited, at the latest after `drainMs`. */
  async leave(drainMs: number): Promise<void> {
    this.#leaving = true
    if (this.#alive().length === 0) return this.#bridge.close()
    const gone = new Promise<void>((resolve) => {
      this.#onGone = resolve
    })
    for (const member of this.#members) this.#send(member, { type: 'leave' })
    await Promise.race([gone, sleep(this.#options.clock, drainMs + leaveGraceMs)])
    for (const member of this.#alive()) member.child?.kill('SIGKILL')
    await this.#bridge.close()
  }

  #alive(): Member[] {
    return this.#members.filter(({ child }) => child !== null)
  }

  #spawn(member: Member): Promise<void> {
    const [script, ...args] = this.#options.command
    // Its standard error is the gateway's log.
    const child = fork(script!, args, {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    member.child = child
    return new Promise((resolve) => {
      child.on('message', (message: FromMember, handle) => {
        if (message.type === 'ready') {
          this.#becomeReady(member)
          resolve()
        } else if (message.type === 'connection') {
          this.#comesBack(message, handle)
        } else this.#options.report(message)
      })
      const lost = () => {
        resolve()
        if (member.child === child) this.#lost(member)
      }
      child.on('error', (error) => {
        this.#options.log.error({ err: error }, 'cannot start or contact a gateway process')
        if (child.pid === undefined) lost()
      })
      child.once('exit', lost)
    })
  }

  #becomeReady(member: Member): void {
    member.ready = true
    this.#send(member, { type: 'linked', linked: this.#linked })
    this.#send(member, { type: 'challenges', challenges: this.#challenges })
    if (this.#leaving) this.#send(member, { type: 'leave' })
  }

  /** Its connections are lost. This process serves its environments from now on, permanently. */
  #lost(member: Member): void {
    member.child = null
    member.ready = false
    if (this.#alive().length === 0) this.#onGone()
    if (this.#leaving) return
    this.#options.log.error(
      { member: member.index },
      'a gateway process exited; this process takes over its environments',
    )
    for (const { route, member: owner } of [...this.#routes.values()]) {
      if (owner !== member) continue
      this.#forget(route.appEnvId)
      this.#options.own.take({ type: 'route', route })
    }
    this.#options.clock.after(member.restartMs, () => {
      if (!this.#leaving) void this.#spawn(member)
    })
    member.restartMs = Math.min(lastRestartMs, member.restartMs * 2)
  }

  #replaceAll(routes: readonly Route[]): void {
    const named = new Set(routes.map(({ appEnvId }) => appEnvId))
    for (const appEnvId of [...this.#routes.keys()]) if (!named.has(appEnvId)) this.#forget(appEnvId)
    const own: Route[] = []
    for (const route of routes) {
      const member = this.#memberFor(route.appEnvId)
      if (member) this.#remember(route, member)
      else own.push(route)
    }
    this.#options.own.take({ type: 'routes', routes: own })
    for (const member of this.#members) {
      const theirs = [...this.#routes.values()].filter((owned) => owned.member === member)
      this.#send(member, { type: 'routes', routes: theirs.map(({ route }) => route) })
    }
  }

  #put(route: Route): void {
    const member = this.#memberFor(route.appEnvId)
    if (!member) {
      this.#options.own.take({ type: 'route', route })
      return
    }
    this.#remember(route, member)
    this.#send(member, { type: 'route', route })
  }

  /** Null: this process. An environment that this process serves stays here, or two processes would assign slots. */
  #memberFor(appEnvId: string): Member | null {
    const owned = this.#routes.get(appEnvId)
    if (owned) return owned.member
    if (this.#options.own.serves(appEnvId)) return null
    const member = this.#members[ownerOf(appEnvId, this.#members.length + 1) - 1]
    return member?.ready ? member : null
  }

  #remember(route: Route, member: Member): void {
    this.#forget(route.appEnvId)
    this.#routes.set(route.appEnvId, { route, member })
    for (const name of hostsOf(route)) this.#byHost.set(name, route.appEnvId)
  }

  #forget(appEnvId: string): void {
    const owned = this.#routes.get(appEnvId)
    if (!owned) return
    this.#routes.delete(appEnvId)
    for (const name of hostsOf(owned.route)) {
      if (this.#byHost.get(name) === appEnvId) this.#byHost.delete(name)
    }
  }

  #comesBack({ read, peer }: { read: Uint8Array; peer: Peer }, handle: unknown): void {
    // The client may have disconnected while its connection was passed on.
    if (!handle) return
    const socket = received(handle)
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength)
    this.#options.own.accept(socket, bytes, peer)
  }

  #pass(member: Member, socket: Socket, read: Buffer, peer: Peer): void {
    if (!isSendable(socket)) {
      void this.#bridge.carry(socket).then((far) => far && this.#pass(member, far, read, peer))
      return
    }
    const handle = sendable(socket)
    if (!handle || !member.child?.connected) {
      socket.destroy()
      return
    }
    const message: ToMember = { type: 'connection', read, peer }
    member.child.send(message, handle, {}, () => socket.destroy())
  }

  #send(member: Member, message: ToMember): void {
    if (member.child?.connected && member.ready) member.child.send(message, () => {})
  }
}
