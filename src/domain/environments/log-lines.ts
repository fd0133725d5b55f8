/** Longest line of a log, in bytes; longer lines are cut and marked (docs/interface.md#logs). */
export const longestLine = 8192
/** The same for the output of a build before its secrets are masked, in characters: a program may print no line feed. */
export const longestBuildLine = 16 * 1024
/** Appended to a line that was cut. */
export const cutMark = ' … [line cut at 8 KiB]'

/** The line; if it has more than `most` characters, its start and the mark. */
export function cutLine(line: string, most = longestLine): string {
  return line.length <= most ? line : `${line.slice(0, most - cutMark.length)}${cutMark}`
}
