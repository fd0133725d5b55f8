import { fieldLabel, isHidden, knownLabel } from './fields.ts'
import { type NameOf, valueWords } from './values.ts'

interface Change {
  path: string
  before: unknown
  after: unknown
}

export interface ChangeWords {
  key: string
  label: string
  before: string | null
  after: string | null
}

/**
 * Changes for people: a setting that took effect at once is one row and not two, a created or deleted object is a row for
 * each of its facts, and bookkeeping is left out.
 */
export function changeWords(changes: readonly Change[], nameOf?: NameOf): ChangeWords[] {
  const flat = changes.flatMap((change) => (change.path === '' ? factsOf(change) : [change]))
  const known = new Map(flat.map((change) => [change.path, change]))
  return flat
    .filter(({ path }) => !isHidden(path))
    .flatMap(({ path, before, after }) => {
      const own = path.replace(/^applied\./, '')
      const saved = path === own ? undefined : known.get(own)
      if (saved && isSame(saved.before, before) && isSame(saved.after, after)) return []
      const label = fieldLabel(own) + (path === own || saved === undefined ? '' : ', in effect')
      return [
        { key: path, label, before: valueWords(own, before, nameOf), after: valueWords(own, after, nameOf) },
      ]
    })
}

const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other)

/** The named facts of a whole object: empty, disabled and repeated ones are left out. */
function factsOf({ before, after }: Change): Change[] {
  const [one, other] = [recordOf(before), recordOf(after)]
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return keys
    .filter((key) => knownLabel(key) !== null)
    .map((key) => ({ path: key, before: one[key], after: other[key] }))
    .filter((fact) => !(says(fact.before) === false && says(fact.after) === false))
}

function says(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return value !== undefined && value !== null && value !== '' && value !== false
}

/** An object or its JSON text, with the saved settings of an environment as its own facts. */
function recordOf(value: unknown): Record<string, unknown> {
  const object = typeof value === 'string' ? parsed(value) : value
  if (typeof object !== 'object' || object === null) return {}
  const { saved, applied: _applied, settings, ...rest } = object as Record<string, unknown>
  return { ...rest, ...(saved as object | undefined), ...(settings as object | undefined) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
