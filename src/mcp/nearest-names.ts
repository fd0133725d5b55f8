const mostNamed = 3

/** Of `names`, the ones that share most words with a name that is none of them: best first, none where no word fits. */
export function nearestNames(wrong: string, names: readonly string[]): string[] {
  const wanted = wordsOf(wrong.slice(0, 64))
  return names
    .map((name) => ({ name, likeness: likeness(wanted, wordsOf(name)) }))
    .filter((candidate) => candidate.likeness >= 0.3)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, mostNamed)
    .map((candidate) => candidate.name)
}

/** `listAppEnvironments` and `list_app_envs` have the same words as `list-app-envs`. */
function wordsOf(name: string): Set<string> {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) => word.replace(/s$/, '').replace(/^environment$/, 'env'))
  return new Set(words.filter((word) => word !== ''))
}

/** Shared words of all words, 0 to 1. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = [...one].filter((word) => other.has(word)).length
  return shared / (one.size + other.size - shared || 1)
}
