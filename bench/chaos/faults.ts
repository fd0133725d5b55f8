import type { Balancer } from '../../testkit/platform/balancer.ts'
import type { ControlPlanes } from '../../testkit/platform/control-planes.ts'
import type { PostgresServer } from '../../testkit/store/postgres-server.ts'
import { pause, print } from './report.ts'

export const betweenFaultsMs = 3_000
/** The first pause is a long one; the next are as long as a lease and a half. */
const longPauseMs = 60_000
const pauseMs = 9_000

interface World {
  names: readonly string[]
  planes: ControlPlanes
  server: PostgresServer
  balancer: Balancer
  progress: () => string
}

/** Breaks one thing after the other, a few seconds apart, until it is ended. */
export class Faults {
  readonly made: string[] = []
  readonly #world: World
  #isOver = false
  #pauses = 0

  constructor(world: World) {
    this.#world = world
  }

  end(): void {
    this.#isOver = true
  }

  async run(): Promise<void> {
    const ways = [() => this.#kill(), () => this.#stop(), () => this.#restart(), () => this.#cut()]
    for (let turn = 0; !this.#isOver; turn += 1) {
      const name = await ways[turn % ways.length]!()
      this.made.push(name)
      print(`${this.made.length} faults, the last one: ${name}; ${this.#world.progress()}`)
      await pause(betweenFaultsMs)
    }
  }

  summary(): string {
    const counts = new Map<string, number>()
    for (const name of this.made) counts.set(name, (counts.get(name) ?? 0) + 1)
    return [...counts].map(([name, count]) => `${count} x ${name}`).join(', ')
  }

  async #kill(): Promise<string> {
    const plane = this.#world.planes.at(this.#any())
    await plane.end('SIGKILL')
    await pause(500)
    await plane.start()
    return 'kill -9'
  }

  async #stop(): Promise<string> {
    const plane = this.#world.planes.at(this.#any())
    const ms = this.#pauses++ === 0 ? longPauseMs : pauseMs
    plane.signal('SIGSTOP')
    await pause(ms)
    plane.signal('SIGCONT')
    return `SIGSTOP for ${ms / 1000} s, SIGCONT`
  }

  async #restart(): Promise<string> {
    await this.#world.server.halt('SIGINT')
    await this.#world.server.launch()
    return 'restart of PostgreSQL'
  }

  /** Connections of callers and those to the database. */
  async #cut(): Promise<string> {
    this.#world.balancer.cut()
    const sessions =
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'longshore %'"
    await this.#world.server.query('postgres', sessions)
    return 'cut connections'
  }

  #any(): string {
    const { names } = this.#world
    return names[Math.floor(Math.random() * names.length)] as string
  }
}
