/** Longest line of a log, in bytes; longer lines are cut and marked (docs/interface.md#logs). */
export const longestLine = 8192
/** Appended to a line that was cut. */
export const cutMark = ' … [line cut at 8 KiB]'

/** The line; if it has more than `most` characters, its start and the mark. */
export function cutLine(line: string, most = longestLine): string {
  return line.length <= most ? line : `${line.slice(0, most - cutMark.length)}${cutMark}`
}
