/**
 * From now on an uncaught error ends only the work that it belongs to, not the process, because that would be an outage for
 * every tenant.
 */
export function continueAfterBugs(note: (error: unknown) => void): void {
  process.on('uncaughtException', note).on('unhandledRejection', note)
  // They may be a file on a full disk, or a pipe without a reader.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})
}
