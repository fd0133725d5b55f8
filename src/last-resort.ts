/**
 * From now on an error that nothing caught ends what it belongs to, and not the process, which every tenant would be
 * without.
 */
export function continueAfterBugs(note: (error: unknown) => void): void {
  process.on('uncaughtException', note).on('unhandledRejection', note)
  // They may be a file on a full disk, or a pipe without a reader.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}
