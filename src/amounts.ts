/** "1 container", "3 containers". */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

/** `34 kB`, `1.2 MB`. */
export function readableBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${Math.round(bytes / 1_000)} kB`
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`
  return `${(bytes / 1_000_000_000).toFixed(2)} GB`
}

const mostListed = 10

/** "a, b", and "a, b and 480 more" for names whose number a caller chooses: a sentence has at most ten. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, mostListed).join(', ')
  return names.length > mostListed ? `${shown} and ${names.length - mostListed} more` : shown
}
