const mostNamed = 4
const leastLikeness = 0.3

/** Words that occur in many names get a low weight: `list_logs` means get-logs, not another list. */
const common: ReadonlySet<string> = new Set(
  'get list read show create add make update set change app id'.split(' '),
)
const commonWeight = 0.3

/** The names most similar to an unknown name, best first; empty if no word matches. */
export function nearestNames(wrong: string, names: readonly string[]): string[] {
  const wanted = wordsOf(wrong.slice(0, 64))
  // A function is created with create-app.
  if (wanted.has('function')) wanted.add('app')
  return names
    .map((name) => ({ name, likeness: likeness(wanted, wordsOf(name)) }))
    .filter((candidate) => candidate.likeness >= leastLikeness)
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, mostNamed)
    .map((candidate) => candidate.name)
}

/** `listAppEnvironments` and `list_app_envs` yield the same words as `list-app-envs`. */
function wordsOf(name: string): Set<string> {
  const words = name
    .replace(/([a-z])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map((word) =>
      word
        .replace(/s$/, '')
        .replace(/^environment$/, 'env')
        .replace(/^application$/, 'app'),
    )
  return new Set(words.filter((word) => word !== ''))
}

/** Weight of the shared words divided by the weight of all words, 0 to 1. */
function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  const shared = weightOf([...one].filter((word) => other.has(word)))
  return shared / (weightOf([...one, ...other]) - shared || 1)
}

function weightOf(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + (common.has(word) ? commonWeight : 1), 0)
}
