/** "1 container", "3 containers". */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

const mostListed = 10

/** "a, b", and "a, b and 480 more" for names whose number a caller chooses: a sentence has at most ten. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, mostListed).join(', ')
  return names.length > mostListed ? `${shown} and ${names.length - mostListed} more` : shown
}
