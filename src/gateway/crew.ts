import { type ChildProcess, fork } from 'node:child_process'
import type { Socket } from 'node:net'
import { type Clock, sleep } from '../clock.ts'
import type { Log } from '../log.ts'
import { received, sendable } from './connection-handle.ts'
import { type FromMember, ownerOf, type ToMember } from './crew-link.ts'
import type { Route } from './gateway-link.ts'
import type { PassOn } from './proxy-context.ts'
import { bareHost, hostNameOf } from './route-table.ts'
import type { EnvironmentNews } from './serving.ts'

export interface CrewOptions {
  /** All processes of the gateway, this one included. */
  processes: number
  /** Script and arguments that run `crewMember`. */
  command: readonly string[]
  clock: Clock
  log: Log
  /** Serves what this process owns. */
  own: {
    take(news: EnvironmentNews): void
    serves(appEnvId: string): boolean
    accept(socket: Socket, read: Buffer): void
  }
  /** A member has something for the control plane. */
  report(message: Exclude<FromMember, { type: 'ready' | 'connection' }>): void
}

interface Member {
  /** Its number; this process is 0. */
  readonly index: number
  child: ChildProcess | null
  ready: boolean
  restartMs: number
}

const startMs = 10_000
const firstRestartMs = 1_000
const lastRestartMs = 60_000
/** A member that does not leave when its time is over is ended this much later. */
const leaveGraceMs = 2_000

/**
 * The other processes of this gateway. Each environment is served by one process and one only, so its concurrency
 * limit, its queue and its scale are decided where all its requests are: exact without any counter that is
 * shared. Connections are taken here and passed to the process that serves what they ask for.
 */
export class Crew {
  readonly #options: CrewOptions
  readonly #members: Member[]
  /** The environments of the members. */
  readonly #routes = new Map<string, { route: Route; member: Member }>()
  readonly #byHost = new Map<string, string>()
  #linked = false
  #leaving = false
  #onGone: () => void = () => {}

  constructor(options: CrewOptions) {
    this.#options = options
    this.#members = Array.from({ length: options.processes - 1 }, (_, index) => {
      return { index: index + 1, child: null, ready: false, restartMs: firstRestartMs }
    })
  }

  /** Resolves when the members serve; one that does not come is done without. */
  async start(): Promise<void> {
    if (this.#members.length === 0) return
    const all = Promise.all(this.#members.map((member) => this.#spawn(member)))
    await Promise.race([all, sleep(this.#options.clock, startMs)])
  }

  setLinked(linked: boolean): void {
    this.#linked = linked
    for (const member of this.#members) this.#send(member, { type: 'linked', linked })
  }

  /** Gives each process the news about its own environments. */
  take(news: EnvironmentNews): void {
    switch (news.type) {
      case 'routes':
        this.#replaceAll(news.routes)
        return
      case 'route':
        this.#put(news.route)
        return
      default: {
        const owned = this.#routes.get(news.appEnvId)
        if (owned) this.#send(owned.member, news)
        else this.#options.own.take(news)
        if (news.type === 'route-gone') this.#forget(news.appEnvId)
      }
    }
  }

  /** Who takes a connection for this host; null: no member serves it. */
  elsewhere(host: string): PassOn | null {
    const appEnvId = this.#byHost.get(bareHost(host))
    const member = appEnvId === undefined ? undefined : this.#routes.get(appEnvId)?.member
    return member ? (socket, read) => this.#pass(member, socket, read) : null
  }

  drain(): void {
    this.#leaving = true
    for (const member of this.#members) this.#send(member, { type: 'drain' })
  }

  /** No connection comes any more; resolves when the members are gone, which they are after `drainMs`. */
  async leave(drainMs: number): Promise<void> {
    this.#leaving = true
    if (this.#alive().length === 0) return
    const gone = new Promise<void>((resolve) => {
      this.#onGone = resolve
    })
    for (const member of this.#members) this.#send(member, { type: 'leave' })
    await Promise.race([gone, sleep(this.#options.clock, drainMs + leaveGraceMs)])
    for (const member of this.#alive()) member.child?.kill('SIGKILL')
  }

  #alive(): Member[] {
    return this.#members.filter(({ child }) => child !== null)
  }

  #spawn(member: Member): Promise<void> {
    const [script, ...args] = this.#options.command
    // Its words for people go to our error output, which is the gateway's log.
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
          this.#comesBack(message.read, handle)
        } else this.#options.report(message)
      })
      const lost = () => {
        resolve()
        if (member.child === child) this.#lost(member)
      }
      child.on('error', (error) => {
        this.#options.log.error({ err: error }, 'a gateway process cannot be started or told')
        if (child.pid === undefined) lost()
      })
      child.once('exit', lost)
    })
  }

  #becomeReady(member: Member): void {
    member.ready = true
    this.#send(member, { type: 'linked', linked: this.#linked })
    if (this.#leaving) this.#send(member, { type: 'leave' })
  }

  /** Its connections are gone with it. What it served is served here from now on, and stays here. */
  #lost(member: Member): void {
    member.child = null
    member.ready = false
    if (this.#alive().length === 0) this.#onGone()
    if (this.#leaving) return
    this.#options.log.error(
      { member: member.index },
      'a gateway process has ended; its environments move here',
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

  /** Null: this process. What it serves once it keeps, or there would be two that give out slots. */
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
    this.#byHost.set(hostNameOf(route), route.appEnvId)
  }

  #forget(appEnvId: string): void {
    const owned = this.#routes.get(appEnvId)
    if (!owned) return
    this.#routes.delete(appEnvId)
    const name = hostNameOf(owned.route)
    if (this.#byHost.get(name) === appEnvId) this.#byHost.delete(name)
  }

  #comesBack(read: Uint8Array, handle: unknown): void {
    // The client may have gone while its connection was on the way.
    if (!handle) return
    const socket = received(handle)
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.byteLength)
    this.#options.own.accept(socket, bytes)
  }

  #pass(member: Member, socket: Socket, read: Buffer): void {
    const handle = sendable(socket)
    if (!handle || !member.child?.connected) {
      socket.destroy()
      return
    }
    const message: ToMember = { type: 'connection', read }
    member.child.send(message, handle, {}, () => socket.destroy())
  }

  #send(member: Member, message: ToMember): void {
    if (member.child?.connected && member.ready) member.child.send(message, () => {})
  }
}
