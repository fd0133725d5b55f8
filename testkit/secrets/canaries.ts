import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { sql } from 'kysely'
import type { Db } from '../../src/store/db.ts'

/** Something that came out: an answer, a log line, a file. */
export interface Output {
  /** Such as `REST get-app-env 200`, `log`, `file longshore.db-wal`. */
  where: string
  text: string
}

interface Canary {
  name: string
  value: string
  /** Texts to search for: the core, and its encodings that would not show it as it is. */
  signs: string[]
  /** May be stored in clear: private, but not a credential. */
  isPrivate: boolean
}

/**
 * Secrets identified by a unique core. A sweep finds a core in plain text, URL-encoded or JSON-escaped, in base64 at any
 * offset, and in hex.
 */
export class Canaries {
  readonly #canaries: Canary[] = []

  get count(): number {
    return this.#canaries.length
  }

  /** A new core, planted as `value(core)`; characters that encodings change surround it by default. */
  plant(name: string, value: (core: string) => string = (core) => `"${core}\\ é/+&=%$(x)`): string {
    const core = `cnry${randomBytes(10).toString('hex')}`
    return this.know(name, core, value(core))
  }

  /** As `plant`, for a value that may be stored in clear. */
  plantPrivate(name: string, value?: (core: string) => string): string {
    const planted = this.plant(name, value)
    this.#canaries.at(-1)!.isPrivate = true
    return planted
  }

  /** A secret that the platform made, such as a token: `core` is looked for as it is. */
  know(name: string, core: string, value = core): string {
    if (!this.#canaries.some((one) => one.signs[0] === core)) {
      this.#canaries.push({
        name,
        value,
        signs: signsOf(core),
        isPrivate: false,
      })
    }
    return value
  }

  /** `name in where` for every canary found. */
  foundIn(outputs: readonly Output[], options: { inStore?: boolean } = {}): string[] {
    return outputs.flatMap(({ where, text }) =>
      this.#canaries
        .filter(({ isPrivate }) => !(isPrivate && options.inStore))
        .filter(({ signs }) => signs.some((sign) => text.includes(sign)))
        .map(({ name, signs }) => `${name} in ${where}: ${around(text, signs)}`),
    )
  }
}

function signsOf(core: string): string[] {
  const hex = Buffer.from(core).toString('hex')
  const escaped = JSON.stringify(core).slice(1, -1)
  return [...new Set([core, encodeURIComponent(core), escaped, ...base64Of(core), hex, hex.toUpperCase()])]
}

/** The part of a text's base64 that does not depend on its position in a longer text; both alphabets. */
function base64Of(core: string): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(core)])
    const inner = bytes.toString('base64').slice(offset === 0 ? 0 : offset + 1, -4)
    return [...new Set([inner, inner.replaceAll('+', '-').replaceAll('/', '_')])]
  })
}

function around(text: string, signs: readonly string[]): string {
  const at = Math.max(...signs.map((sign) => text.indexOf(sign)))
  return JSON.stringify(text.slice(Math.max(0, at - 80), at + 40))
}

/** Every row of a store, one output for a table. */
export async function rowsOf(db: Db): Promise<Output[]> {
  return db.read(async (tx) => {
    const outputs: Output[] = []
    for (const { name } of await tx.introspection.getTables()) {
      const { rows } = await sql`select * from ${sql.table(name)}`.execute(tx)
      outputs.push({ where: `table ${name}`, text: JSON.stringify(rows) })
    }
    return outputs
  })
}

/** Every file below a folder, byte for byte as Latin-1, but those that `except` names. */
export function filesBelow(dir: string, except: (relative: string) => boolean = () => false): Output[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => !except(path.relative(dir, file)))
    .map((file) => ({ where: `file ${path.relative(dir, file)}`, text: readFileSync(file, 'latin1') }))
}
