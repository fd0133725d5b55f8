import type { Clock } from '../clock.ts'
import type { DatabasePresetName } from '../contract/fields.ts'
import {
  bestAvailability,
  type DatabaseAvailabilities,
  type DatabaseAvailability,
  type DatabasePreset,
  databasePresetOf,
  databasePresets,
  presetFrom,
} from '../domain/databases/presets.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Engine } from './engine.ts'

const freshMs = 60_000

/** Which managed databases each engine can run. Refreshed in the background, so that no read waits for an engine. */
export class DatabaseAvailabilityWatch {
  readonly #regions: readonly { region: string; engine: Engine }[]
  readonly #imageSource: string | null
  readonly #others: () => ReadonlyMap<string, DatabaseAvailabilities>
  readonly #clock: Clock
  readonly #log: Log
  readonly #availabilities = new Map<string, DatabaseAvailabilities>()
  #seenAtMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null

  constructor(deps: {
    regions: readonly { region: string; engine: Engine }[]
    imageSource: string | null
    clock: Clock
    log: Log
    /** Reports of the engines of other machines, by region. */
    others?: () => ReadonlyMap<string, DatabaseAvailabilities>
  }) {
    this.#regions = deps.regions
    this.#imageSource = deps.imageSource
    this.#clock = deps.clock
    this.#log = deps.log
    this.#others = deps.others ?? (() => new Map())
  }

  /**
   * The last known availability in the region, or the best of all regions. Refreshes it if it is older than a minute.
   */
  current(region?: string): DatabaseAvailabilities {
    if (this.#clock.monotonicMs() - this.#seenAtMs > freshMs) void this.refresh()
    const all = new Map([...this.#others(), ...this.#availabilities])
    if (region !== undefined) return all.get(region) ?? new Map()
    const best = new Map<DatabasePresetName, DatabaseAvailability>()
    for (const [name, availability] of [...all.values()].flatMap((availabilities) => [...availabilities])) {
      const known = best.get(name)
      const preset = presetFrom(this.#imageSource, databasePresetOf(name))
      best.set(name, known ? bestAvailability(known, availability, preset) : availability)
    }
    return best
  }

  refresh(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    await Promise.all(
      this.#regions.map(async ({ region, engine }) =>
        this.#availabilities.set(region, await this.#availabilityOf(engine)),
      ),
    )
    this.#seenAtMs = this.#clock.monotonicMs()
  }

  async #availabilityOf(engine: Engine): Promise<DatabaseAvailabilities> {
    const availabilities = databasePresets.map(async (preset) => {
      return [preset.dockerPreset, await this.#ask(engine, presetFrom(this.#imageSource, preset))] as const
    })
    return new Map(await Promise.all(availabilities))
  }

  async #ask(engine: Engine, preset: DatabasePreset): Promise<DatabaseAvailability> {
    if (!engine.databaseAvailabilityOf) {
      return { available: false, unavailableReason: `The ${engine.kind} engine runs no databases.` }
    }
    try {
      return await engine.databaseAvailabilityOf(preset)
    } catch (error) {
      if (!(error instanceof AppError))
        this.#log.error({ err: error }, 'cannot read the availability of a database')
      const why = error instanceof AppError ? error.message : 'The engine did not report its databases'
      return { available: false, unavailableReason: `${why}. Try again later.` }
    }
  }
}
