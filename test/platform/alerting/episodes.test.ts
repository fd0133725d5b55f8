import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deleteAlert, toggleAlert, updateAlert } from '../../../src/contract/alerts.ts'
import { stopAppEnv } from '../../../src/contract/app-env-actions.ts'
import { deleteAppEnv } from '../../../src/contract/app-envs.ts'
import { deleteContactPoint, updateContactPoint } from '../../../src/contract/contact-points.ts'
import { AlertingFixture } from '../../../testkit/alerting/fixture.ts'
import { placeEnvironment } from '../../../testkit/platform/place-environment.ts'
import { randomOf } from '../../../testkit/random.ts'
import { untilRead } from '../../../testkit/until.ts'

const running = { status: 'RUNNING', desiredState: 'running' } as const

/** An environment with two alerts and three receivers, and every move that people and programs can make. */
class World {
  readonly #fixture: AlertingFixture
  readonly #random: () => number
  readonly #seed: number
  readonly broken = new Set<number>()
  #appEnvId = ''
  #alerts: string[] = []
  readonly #points: string[] = []
  #version = 0

  constructor(fixture: AlertingFixture, seed: number) {
    this.#fixture = fixture
    this.#seed = seed
    this.#random = randomOf(seed)
  }

  async build(): Promise<void> {
    this.#appEnvId = await this.#fixture.makeEnvironment()
    for (let index = 0; index < 3; index += 1)
      this.#points.push(await this.#fixture.point('webhook', { url: this.#url(index) }))
    for (const name of ['first', 'second']) {
      const more = { name, appEnvId: this.#appEnvId, contactPointIds: this.#somePoints() }
      this.#alerts.push((await this.#fixture.makeAlert([], more)).alertId)
    }
  }

  /** The path names the contact point, so that a changed address is still the same receiver. */
  #url(index: number): string {
    this.#version += 1
    return this.#fixture.receiver.url(`/${this.#seed}/${index}/${this.#version}`)
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)]
  }

  #somePoints(): string[] {
    return this.#points.filter(() => this.#random() < 0.6)
  }

  /** Refusals, such as of a contact point in use or of an object that is gone, are part of it. */
  async step(): Promise<string> {
    const { call } = this.#fixture
    const alertId = this.#pick(this.#alerts) ?? ''
    const index = Math.floor(this.#random() * 3)
    const contactPointId = this.#points[index] ?? ''
    const moves: [number, string, () => Promise<unknown>][] = [
      [12, 'fires', () => this.#measure(95, 8)],
      [8, 'recovers', () => this.#measure(10, 2)],
      [2, 'is calm', () => this.#calm()],
      [5, 'has no data', () => this.#later(null)],
      [4, 'is paused', () => call(toggleAlert, { alertId, enabled: false })],
      [5, 'is resumed', () => call(updateAlert, { alertId, enabled: true })],
      [4, 'has other receivers', () => call(updateAlert, { alertId, contactPointIds: this.#somePoints() })],
      [2, 'has another threshold', () => call(updateAlert, { alertId, threshold: 50 + 10 * index })],
      [2, 'has another address', () => call(updateContactPoint, this.#address(index))],
      [2, 'loses a contact point', () => call(deleteContactPoint, { contactPointId })],
      [1, 'is deleted', () => call(deleteAlert, { alertId })],
      [2, 'is stopped', () => call(stopAppEnv, { appEnvId: this.#appEnvId })],
      [2, 'runs again', () => placeEnvironment(this.#fixture.platform.db, this.#appEnvId, running)],
      [2, 'breaks a receiver', async () => this.broken.add(index)],
      [4, 'repairs the receivers', async () => this.broken.clear()],
      [3, 'lets time pass', () => this.#fixture.clock.advance(60_000)],
    ]
    const [, name, move] = this.#pick(moves.flatMap((one) => Array<typeof one>(one[0]).fill(one)))!
    await move().catch(() => {})
    return name
  }

  #address(index: number) {
    return { contactPointId: this.#points[index] ?? '', config: { url: this.#url(index) } }
  }

  async #measure(value: number | null, count: number): Promise<void> {
    await this.#fixture.cycles(this.#appEnvId, value, count)
  }

  async #later(value: number | null): Promise<void> {
    await this.#fixture.clock.advance(11 * 60_000)
    await this.#measure(value, 1)
  }

  /** Also long enough for a flapping alert. */
  async #calm(): Promise<void> {
    await this.#measure(10, 2)
    await this.#later(10)
  }

  /** Ends what is left: by recovery, by deletion of the alerts or of the environment. */
  async end(): Promise<void> {
    const { call, platform, clock } = this.#fixture
    this.broken.clear()
    const how = this.#random()
    const enabled = true
    if (how < 0.4) {
      await placeEnvironment(platform.db, this.#appEnvId, running)
      for (const alertId of this.#alerts) await call(toggleAlert, { alertId, enabled }).catch(() => {})
      await this.#calm()
    } else if (how < 0.7) {
      for (const alertId of this.#alerts) await call(deleteAlert, { alertId }).catch(() => {})
    } else await call(deleteAppEnv, { appEnvId: this.#appEnvId })
    const { db } = platform
    await untilRead(
      async () => {
        await clock.advance(10_000)
        return db.read((tx) =>
          tx.selectFrom('notifications').select('event').where('status', '=', 'due').execute(),
        )
      },
      (due) => due.length === 0,
      'an empty outbox',
    )
  }

  /** Events of each receiver and episode, as accepted. */
  episodes(): Map<string, string[]> {
    const episodes = new Map<string, string[]>()
    for (const { path, body } of this.#fixture.receiver.accepted) {
      const [, seed, index] = path.split('/')
      if (Number(seed) !== this.#seed) continue
      const key = `${index} ${body.episodeId}`
      episodes.set(key, [...(episodes.get(key) ?? []), body.event])
    }
    return episodes
  }
}

describe('what was announced is closed exactly once', () => {
  let fixture: AlertingFixture
  beforeAll(async () => {
    fixture = await AlertingFixture.start()
  })
  afterAll(() => fixture.close())

  it('3.2: a flapping alert is announced once, and closed once it has been calm', async () => {
    const { receiver } = fixture
    receiver.answer = () => ({ status: 200 })
    const webhook = await fixture.point('webhook', { url: receiver.url('/flapping') })
    const { appEnvId, alertId } = await fixture.makeAlert([webhook])
    for (let swing = 0; swing < 8; swing += 1) {
      await fixture.cycles(appEnvId, 95, 8)
      await fixture.cycles(appEnvId, 10, 2)
    }
    expect((await fixture.read(alertId)).openEpisode).toMatchObject({
      episodeId: `${alertId}-3`,
      flapping: true,
    })
    await fixture.clock.advance(11 * 60_000)
    await fixture.cycles(appEnvId, 10, 1)
    const events = await untilRead(
      async () => fixture.eventsOf(alertId).map(({ body }) => [body.event, body.flapping]),
      ({ length }) => length === 6,
      'six notifications',
    )
    expect(events).toEqual([
      ['firing', false],
      ['resolved', false],
      ['firing', false],
      ['resolved', false],
      ['firing', true],
      ['resolved', true],
    ])
    expect((await fixture.read(alertId)).openEpisode).toBeUndefined()
  })

  it('3.2: in every order of toggle, update, delete, stop, missing data and recovery', async () => {
    const ended = new Set<string>()
    for (let seed = 1; seed <= 12; seed += 1) {
      const world = new World(fixture, seed)
      fixture.receiver.answer = ({ path }) => ({
        status: world.broken.has(Number(path.split('/')[2])) ? 503 : 200,
      })
      await world.build()
      const story: string[] = []
      for (let count = 0; count < 25; count += 1) story.push(await world.step())
      await world.end()
      for (const [key, events] of world.episodes())
        expect(events, `seed ${seed}, ${key}: ${story.join(', ')}`).toEqual(['firing', 'resolved'])
    }
    for (const { body } of fixture.receiver.accepted) {
      if (body.event === 'firing') continue
      ended.add(body.endedBy)
      expect(body.value === null, body.endedBy).toBe(body.endedBy !== 'recovered')
    }
    expect([...ended].sort()).toEqual([
      'alert-deleted',
      'contact-point-removed',
      'environment-deleted',
      'environment-stopped',
      'recovered',
    ])
    expect(fixture.receiver.accepted.length).toBeGreaterThan(60)
  })
})
