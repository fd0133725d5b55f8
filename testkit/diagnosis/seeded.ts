import { randomOf } from '../random.ts'

/** Choices that follow from a seed: the same seed gives the same texts. */
export class Seeded {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  number(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1))
  }

  pick<T>(values: readonly T[]): T {
    return values[this.number(0, values.length - 1)]!
  }

  /** A made-up word that no package and no program has for a name. */
  word(): string {
    const part = () => this.pick('ka lo mi ru sen tor vex qui dal pha zon bri'.split(' '))
    return `${part()}${part()}${part()}${this.number(10, 99)}`
  }

  /** A made-up name of an environment variable. */
  variable(): string {
    const part = () => this.pick('ORDER STOCK MAIL SEARCH BILLING QUEUE LEDGER MAP'.split(' '))
    return `${part()}_${part()}_${this.pick(['URL', 'KEY', 'SECRET', 'HOST', 'TOKEN', 'DSN'])}`
  }
}
