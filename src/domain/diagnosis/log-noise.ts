/** Lines that package managers print after an error: pointers to their own log files, help and news of their releases. */
const noise =
  /complete log of this run|[/\\]_logs[/\\]\S*debug\S*\.log|^\s*npm notice\b|^\s*npm (?:err!|error) run "npm help|^\s*npm (?:err!|error) (?:\d{3} )?(?:Note that you can also install from a|tarball, folder, http url, or git folder)/i
/** An empty line, also with npm's prefix. */
const blank = /^\s*(?:npm (?:err!|error)(?: code \S+| \d{3})?)?\s*$/i

/** A line of output without information about an error. */
export function isNoise(line: string): boolean {
  // Some lines have no end worth reading, and tenants choose them.
  const seen = line.slice(0, 500)
  return blank.test(seen) || noise.test(seen)
}
