import { systemClock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { Worker } from '../../worker.ts'
import type { Db } from '../db.ts'
import { planLeases } from '../lease-plan.ts'
import type { InstanceFacts, KnownInstance, LeasedWork, Membership, Spent, Wakes } from '../membership.ts'
import { type EnvironmentRegions, servingRegionSql } from '../repositories/environments-in-regions.ts'
import { unavailable } from './errors.ts'
import { fenced, type HeldLease } from './fence.ts'
import { type InstanceRow, knownInstance, type LeaseRow, readInstances, regionsOf } from './instance-rows.ts'
import { beatMs, endSessions, expiryMs, nowMs } from './join-machine.ts'
import { type Message, messageOf } from './message.ts'
import type { Session } from './session.ts'

/** Changes of this many milliseconds are announced together, at most so many environments in one message. */
const gatherMs = 5
const mostAnnounced = 100
/** The most calls in one message: keys are up to 45 characters, and a message has at most 8,000 bytes. */
const mostSpent = 50

interface MembershipOptions {
  session: Session
  db: Db
  log: Log
  node: string
  instanceId: string
  machineLease: HeldLease
  /** Called once if another instance took the machine's name over. */
  onReplaced: (reason: string) => void
}

/**
 * An instance among those of one database. Each beat renews its row, reads those of the others, and takes or gives
 * back leases, as `planLeases` assigns them. A lease is valid until another instance takes it, so only the
 * database's clock counts.
 */
export class PostgresMembership implements Membership {
  readonly isShared = true
  readonly machineDb: Db
  readonly #options: MembershipOptions
  readonly #beats: Worker
  readonly #beginnings = new Map<string, { begin: (db: Db) => LeasedWork; region: string | undefined }>()
  readonly #held = new Map<string, { lease: HeldLease; work: LeasedWork }>()
  readonly #endings = new Map<string, Promise<void>>()
  /** Gone instances whose sessions were ended. */
  readonly #ended = new Set<string>()
  #instances: KnownInstance[] = []
  #facts: (() => InstanceFacts) | null = null
  #wakes: Wakes | null = null
  #beatAtMs = Number.NEGATIVE_INFINITY
  /** Start of the unbroken series of beats: after an interruption, this instance waits before it declares others gone. */
  #steadySinceMs = performance.now()
  readonly #changed = new Set<string>()
  #announcing: NodeJS.Timeout | null = null

  constructor(options: MembershipOptions) {
    this.#options = options
    this.machineDb = fenced(options.db, options.machineLease)
    this.#beats = new Worker({
      clock: systemClock,
      everyMs: beatMs,
      pass: () => this.#beat(),
      failed: (error) =>
        options.log.warn({ err: error }, 'no contact with the other control planes; retrying'),
    })
  }

  instances(): readonly KnownInstance[] {
    return this.#instances
  }

  describe(facts: () => InstanceFacts): void {
    this.#facts = facts
  }

  lease(name: string, begin: (db: Db) => LeasedWork, region?: string): void {
    this.#beginnings.set(name, { begin, region })
  }

  async start(wakes: Wakes): Promise<void> {
    this.#wakes = wakes
    await this.#beatNow()
    this.#send({ lease: '' })
  }

  async regionsOf(appEnvId: string): Promise<EnvironmentRegions | null> {
    const query = `select region, ${servingRegionSql} as serving from app_envs where app_env_id = $1`
    const rows = await this.#options.session.query<EnvironmentRegions>(query, [appEnvId]).catch((error) => {
      throw unavailable(error)
    })
    return rows[0] ?? null
  }

  announce(appEnvIds: readonly string[]): void {
    for (const appEnvId of appEnvIds) this.#changed.add(appEnvId)
    this.#announcing ??= setTimeout(() => this.#sendChanges(), gatherMs)
  }

  announceSpent(spent: Spent): void {
    for (let at = 0; at < spent.length; at += mostSpent)
      this.#send({ spent: spent.slice(at, at + mostSpent).map((one) => [...one]) })
  }

  wakeLease(name: string): void {
    const held = this.#held.get(name)
    if (held) held.work.wake?.()
    else this.#send({ lease: name })
  }

  /** A message of another instance. */
  heard(payload: string): void {
    const message = messageOf(payload)
    if (!message || message.by === this.#options.instanceId) return
    if (message.environments) this.#wakes?.environments(message.environments)
    if (message.spent) this.#wakes?.spent?.(message.spent)
    if (message.lease === '') this.#beats.wake()
    else if (message.lease !== undefined) this.#held.get(message.lease)?.work.wake?.()
  }

  /** Begins the beats; resolves after the first one. */
  async join(): Promise<void> {
    this.#beats.start()
    await this.#beatNow()
  }

  async close(): Promise<void> {
    await this.#beats.stop()
    await Promise.all([...this.#held.keys()].map((name) => this.#giveBack(name)))
    await Promise.all(this.#endings.values())
    const { session, node, instanceId } = this.#options
    await session
      .query('update instances set seen_ms = 0 where node = $1 and instance_id = $2', [node, instanceId])
      .catch(() => {})
    this.#sendChanges()
    await session.notify(JSON.stringify({ by: instanceId, lease: '' })).catch(() => {})
    await session.close()
  }

  /** Resolves after the next beat that begins: one in progress may not publish the latest facts. */
  async #beatNow(): Promise<void> {
    this.#beats.wake()
    await this.#beats.settled()
  }

  async #beat(): Promise<void> {
    const { session, node, instanceId } = this.#options
    if (!session.isUp) {
      await session.connect()
      // Announcements may have been lost meanwhile.
      this.#wakes?.environments(null)
    }
    const facts = this.#facts?.()
    const renewed = await session.query(
      `update instances set seen_ms = ${nowMs}, record = case when $3 = '' then record else $3 end
       where node = $1 and instance_id = $2 returning node`,
      [node, instanceId, facts ? JSON.stringify(facts) : ''],
    )
    if (renewed.length === 0) return this.#replaced()
    this.#noteBeat()
    const { rows, leases } = await readInstances(session)
    this.#instances = rows.flatMap((row) => knownInstance(row, leases))
    const alive = new Set(rows.filter(({ age_ms }) => age_ms <= expiryMs).map((row) => row.instance_id))
    if (performance.now() - this.#steadySinceMs > expiryMs) await this.#endGone(rows, alive)
    const living = rows.filter((row) => alive.has(row.instance_id))
    if (this.#wakes && !this.#beats.stopped) await this.#applyLeases(leases, living)
  }

  #noteBeat(): void {
    const now = performance.now()
    if (now - this.#beatAtMs > expiryMs) this.#steadySinceMs = now
    this.#beatAtMs = now
  }

  /** Ends the sessions of instances that are gone, and frees their leases. */
  async #endGone(rows: readonly InstanceRow[], alive: ReadonlySet<string>): Promise<void> {
    const { session, log } = this.#options
    for (const instanceId of alive) this.#ended.delete(instanceId)
    const gone = rows.filter((row) => !alive.has(row.instance_id) && !this.#ended.has(row.instance_id))
    if (gone.length === 0) return
    const ids = gone.map((row) => row.instance_id)
    await endSessions(session, ids)
    for (const { node, age_ms, instance_id } of gone) {
      this.#ended.add(instance_id)
      if (age_ms < 60_000) log.warn({ node }, 'a control plane is gone; taking over its shared work')
    }
  }

  async #applyLeases(leases: readonly LeaseRow[], living: readonly InstanceRow[]): Promise<void> {
    const { instanceId } = this.#options
    const rowOf = (name: string) => leases.find((lease) => lease.name === name)
    const instances = living.map((row) => ({ id: row.instance_id, regions: regionsOf(row) }))
    const works = [...this.#beginnings].map(([name, { region }]) => ({ name, region }))
    const plan = planLeases(works, instances, (name) => rowOf(name)?.instance_id)
    const isSteady = performance.now() - this.#steadySinceMs > expiryMs
    for (const { name } of works) {
      const row = rowOf(name)
      const held = this.#held.get(name)
      if (held && row?.token !== held.lease.token) this.#end(name)
      const isMine = plan.get(name) === instanceId
      if (held && !isMine) void this.#giveBack(name)
      const isFree = !row || row.instance_id === '' || row.instance_id === instanceId
      const isLeft = !isFree && isSteady && !instances.some(({ id }) => id === row.instance_id)
      const isBusy = this.#held.has(name) || this.#endings.has(name)
      if (isMine && !isBusy && (isFree || isLeft)) await this.#take(name, row?.token ?? null)
      // The hand-back of the lease failed, so the others wait for this living holder.
      if (!isMine && !isBusy && row?.instance_id === instanceId) await this.#release(name, row.token)
    }
  }

  async #take(name: string, token: number | null): Promise<void> {
    const { session, instanceId, db, log } = this.#options
    const rows = await (token === null
      ? session.query<{ token: number }>(
          `insert into leases (name, instance_id, token, since_ms) values ($1, $2, 1, ${nowMs})
           on conflict (name) do nothing returning token`,
          [name, instanceId],
        )
      : session.query<{ token: number }>(
          `update leases set instance_id = $2, token = token + 1, since_ms = ${nowMs}
           where name = $1 and token = $3 returning token`,
          [name, instanceId, token],
        ))
    const { begin } = this.#beginnings.get(name) ?? {}
    if (!rows[0] || !begin) return
    const lease = { name, token: rows[0].token }
    log.info({ lease: name }, 'acquired the lease')
    this.#held.set(name, { lease, work: begin(fenced(db, lease)) })
  }

  /** Stops the work first, then lets the next holder have it. */
  async #giveBack(name: string): Promise<void> {
    const held = this.#held.get(name)
    this.#end(name)
    await this.#endings.get(name)
    if (!held) return
    // The next beat tries again.
    await this.#release(name, held.lease.token).catch(() => {})
  }

  async #release(name: string, token: number): Promise<void> {
    const { session, instanceId } = this.#options
    await session.query(
      "update leases set instance_id = '', token = token + 1 where name = $1 and token = $2",
      [name, token],
    )
    await session.notify(JSON.stringify({ by: instanceId, lease: '' }))
  }

  #end(name: string): void {
    const held = this.#held.get(name)
    if (!held) return
    this.#held.delete(name)
    const { log } = this.#options
    log.info({ lease: name }, 'no longer holds the lease')
    const ending = Promise.resolve(held.work.stop())
      .catch((error) => log.error({ err: error, lease: name }, 'shared work could not be stopped cleanly'))
      .then(() => void this.#endings.delete(name))
    this.#endings.set(name, ending)
  }

  #replaced(): void {
    if (this.#beats.stopped) return
    void this.#beats.stop()
    for (const name of [...this.#held.keys()]) this.#end(name)
    this.#options.onReplaced(`another control plane took over the machine ${this.#options.node}`)
  }

  #sendChanges(): void {
    if (this.#announcing) clearTimeout(this.#announcing)
    this.#announcing = null
    const changed = [...this.#changed]
    this.#changed.clear()
    for (let at = 0; at < changed.length; at += mostAnnounced)
      this.#send({ environments: changed.slice(at, at + mostAnnounced) })
  }

  /** Receivers find lost messages by their own comparison. */
  #send(message: Omit<Message, 'by'>): void {
    const { session, instanceId } = this.#options
    if (session.isUp) session.notify(JSON.stringify({ by: instanceId, ...message })).catch(() => {})
  }
}
