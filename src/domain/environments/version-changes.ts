import { isDeepStrictEqual } from 'node:util'
import type { Settings, StoredVariable } from './environment.ts'

type VariableChange = { name: string; change: 'added' | 'removed' | 'changed' }

/** Variables that differ, by name only. `open` unseals, because the same secret may be sealed twice. */
export function changedVariableNames(
  before: readonly StoredVariable[],
  after: readonly StoredVariable[],
  open: (variable: StoredVariable) => string,
): VariableChange[] {
  const [one, other] = [before, after].map((list) => new Map(list.map((entry) => [entry.name, entry])))
  const names = [...new Set([...one!.keys(), ...other!.keys()])].sort()
  return names.flatMap((name): VariableChange[] => {
    const [was, is] = [one!.get(name), other!.get(name)]
    if (!was) return [{ name, change: 'added' }]
    if (!is) return [{ name, change: 'removed' }]
    const same = was.type === is.type && was.isSecret === is.isSecret && open(was) === open(is)
    return same ? [] : [{ name, change: 'changed' }]
  })
}

/** Settings that differ, path by path and without the variables. */
export function changedSettings(
  before: Settings,
  after: Settings,
): { path: string; before: unknown; after: unknown }[] {
  const [one, other] = [before, after].map(({ envVars: _, ...rest }) => flat('', rest))
  const paths = [...new Set([...one!.keys(), ...other!.keys()])].sort()
  return paths
    .map((path) => ({ path, before: one!.get(path) ?? null, after: other!.get(path) ?? null }))
    .filter((change) => !isDeepStrictEqual(change.before, change.after))
}

function flat(path: string, value: unknown): Map<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return new Map([[path, value]])
  return new Map(
    Object.entries(value).flatMap(([key, inner]) => [...flat(path ? `${path}.${key}` : key, inner)]),
  )
}
