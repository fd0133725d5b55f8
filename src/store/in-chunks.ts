import { yieldAlone } from '../pacer.ts'

/** Bytes of JSON that are parsed in a few milliseconds. */
const mostBytes = 1024 * 1024
/** Within the limit of parameters in a statement. */
const mostRows = 500

/**
 * Loads rows of up to megabytes each a few at a time: parsing them all at once would block the event loop. `load` keeps
 * the order of the keys.
 */
export async function* inChunks<Key, Row>(
  rows: readonly { key: Key; bytes: number }[],
  load: (keys: Key[]) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  for (const chunk of chunksOf(rows)) {
    if (chunk[0] !== rows[0]) await yieldAlone()
    yield* await load(chunk.map(({ key }) => key))
  }
}

/** At most a megabyte and a number of rows that fits a statement, and at least one row. */
export function* chunksOf<Row extends { bytes: number }>(rows: readonly Row[]): Generator<Row[]> {
  for (let from = 0; from < rows.length; ) {
    let to = from
    for (let bytes = 0; to < rows.length && to - from < mostRows; to += 1) {
      // PostgreSQL reports sums as text.
      bytes += Number(rows[to]!.bytes)
      if (to > from && bytes > mostBytes) break
    }
    yield rows.slice(from, to)
    from = to
  }
}
