import { isDeepStrictEqual } from 'node:util'
import { deepCopy } from '../deep-copy.ts'

/** One segment of a path: the key of an object, or the name of an item in a list of named items. */
type Step = string
export interface Difference {
  path: Step[]
  before: unknown
  after: unknown
}

/** Bookkeeping that changes automatically and is never restored. */
const bookkeeping = new Set(['revision', 'updatedAt', 'latestRolloutId', 'nextVersion'])

export type Same = (path: readonly string[], one: unknown, other: unknown) => boolean

/** The changes of one audit entry, leaf by leaf. Lists whose items all have a `name` are compared by name. */
export function differences(before: unknown, after: unknown, path: Step[] = []): Difference[] {
  if (isDeepStrictEqual(before, after)) return []
  const [one, other] = [keyed(before), keyed(after)]
  if (!one || !other || path.length >= 6) return [{ path, before, after }]
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((key) => path.length > 0 || !bookkeeping.has(key))
    .flatMap((key) => differences(one.get(key), other.get(key), [...path, key]))
}

/**
 * A stored path as the interface names it: an environment's `saved` settings are top-level fields there, such as
 * `zClouds`.
 */
export function fieldPath(path: string): string {
  return path.replace(/^saved\./, '')
}

/**
 * The changed fields for a sentence. Names of variables are omitted, because tenants choose them; the internal ids of
 * rollouts appear as `deployment`.
 */
export function fieldNames(paths: readonly string[]): string {
  const named = paths.map((path) =>
    fieldPath(path)
      .replace(/^((?:applied\.)?envVars)\..*/s, '$1')
      .replace(/^(?:wanted|current)RolloutId$/, 'deployment'),
  )
  return [...new Set(named)].join(', ')
}

interface Reversal {
  /** The object with the old values restored. */
  draft: Record<string, unknown>
  /** The restored paths, such as `saved.envVars.COLOR.value`. */
  paths: string[]
  /** Values that have changed since; then nothing may be restored. */
  changedSince: string[]
}

/** Restores the old values of `differing` in a copy of `current`, if they are unchanged since the entry. */
export function reversal(
  differing: readonly Difference[],
  current: Record<string, unknown>,
  order: Record<string, unknown>,
  same: Same = (_path, one, other) => isDeepStrictEqual(one, other),
): Reversal {
  const draft = deepCopy(current)
  const changedSince: string[] = []
  for (const { path, before, after } of differing) {
    if (!same(path, valueAt(current, path), after)) changedSince.push(path.join('.'))
    else restoreValue(draft, path, before, order)
  }
  return { draft, paths: differing.map(({ path }) => path.join('.')), changedSince }
}

function keyed(value: unknown): Map<string, unknown> | null {
  if (isNamedList(value)) return new Map(value.map((item) => [item.name, item]))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return new Map(Object.entries(value))
}

function isNamedList(value: unknown): value is { name: string }[] {
  return (
    Array.isArray(value) &&
    value.every((item) => typeof item === 'object' && item !== null && typeof item.name === 'string')
  )
}

function valueAt(object: unknown, path: readonly Step[]): unknown {
  let value = object
  for (const step of path) value = keyed(value)?.get(step)
  return value
}

/** Changes `draft`. A removed named item is restored at its old position. */
function restoreValue(
  draft: Record<string, unknown>,
  path: readonly Step[],
  value: unknown,
  order: Record<string, unknown>,
): void {
  const parent = valueAt(draft, path.slice(0, -1))
  const key = path.at(-1) as Step
  const copy = deepCopy(value)
  if (isNamedList(parent)) {
    const list = parent as unknown[]
    const at = parent.findIndex((item) => item.name === key)
    if (copy === undefined) list.splice(at, 1)
    else if (at >= 0) list[at] = copy
    else list.splice(placeOf(valueAt(order, path.slice(0, -1)), key), 0, copy)
    return
  }
  const record = parent as Record<string, unknown>
  if (copy === undefined) delete record[key]
  else record[key] = copy
}

function placeOf(list: unknown, name: string): number {
  return isNamedList(list)
    ? Math.max(
        0,
        list.findIndex((item) => item.name === name),
      )
    : 0
}
