import type { Clock } from '../clock.ts'
import type { DatabasePresetName } from '../contract/databases.ts'
import {
  type DatabaseOffer,
  type DatabaseOffers,
  type DatabasePreset,
  databaseImage,
  databasePresets,
} from '../domain/database-presets.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Engine } from './engine.ts'

const freshMs = 60_000

/** What an engine can run of the managed databases: asked beside the requests, so that a read never waits for it. */
export class DatabaseOfferWatch {
  readonly #regions: readonly { region: string; engine: Engine }[]
  readonly #imageSource: string | null
  readonly #clock: Clock
  readonly #log: Log
  readonly #offers = new Map<string, DatabaseOffers>()
  #seenAtMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null

  constructor(parts: {
    regions: readonly { region: string; engine: Engine }[]
    imageSource: string | null
    clock: Clock
    log: Log
  }) {
    this.#regions = parts.regions
    this.#imageSource = parts.imageSource
    this.#clock = parts.clock
    this.#log = parts.log
  }

  /** What was seen last in the region, or in the best of all; older than a minute, it is looked at again. */
  current(region?: string): DatabaseOffers {
    if (this.#clock.monotonicMs() - this.#seenAtMs > freshMs) void this.refresh()
    if (region !== undefined) return this.#offers.get(region) ?? new Map()
    const best = new Map<DatabasePresetName, DatabaseOffer>()
    for (const [name, offer] of [...this.#offers.values()].flatMap((offers) => [...offers])) {
      if (!best.get(name)?.available) best.set(name, offer)
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
      this.#regions.map(async ({ region, engine }) => this.#offers.set(region, await this.#offersOf(engine))),
    )
    this.#seenAtMs = this.#clock.monotonicMs()
  }

  async #offersOf(engine: Engine): Promise<DatabaseOffers> {
    const offers = databasePresets.map(async (preset) => {
      const images = preset.versions.map((version) => databaseImage(version.image, this.#imageSource))
      return [preset.dockerPreset, await this.#ask(engine, preset, images)] as const
    })
    return new Map(await Promise.all(offers))
  }

  async #ask(engine: Engine, preset: DatabasePreset, images: string[]): Promise<DatabaseOffer> {
    if (!engine.databaseOffer) {
      return { available: false, unavailableReason: `The ${engine.kind} engine runs no databases.` }
    }
    try {
      return await engine.databaseOffer(preset, images)
    } catch (error) {
      if (!(error instanceof AppError)) this.#log.error({ err: error }, 'a database offer cannot be read')
      const why = error instanceof AppError ? error.message : 'The engine cannot be asked'
      return { available: false, unavailableReason: `${why}. Ask again later.` }
    }
  }
}
