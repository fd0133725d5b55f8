import { isDeepStrictEqual } from 'node:util'
import { secretMask } from '../../contract/fields.ts'
import { fieldPath } from '../../domain/access/undo.ts'

interface ChangedPath {
  path: string
  before: unknown
  after: unknown
}

/** Fields of an object that every change touches, or that no answer names; showing them would hide the actual change. */
const hiddenFields = new Set([
  'revision',
  'updatedAt',
  'nextVersion',
  'wantedRolloutId',
  'currentRolloutId',
  'latestRolloutId',
  'volumeMove',
  'leftVolumeIn',
  'createdAs',
])

/** Field-level difference of two stored objects, secrets masked (docs/interface.md#dry-runs). */
export function changedPaths(before: unknown, after: unknown): ChangedPath[] {
  const changes: ChangedPath[] = []
  compare('', shownFields(before), shownFields(after), changes)
  return changes.map((change) => ({ ...change, path: fieldPath(change.path) }))
}

function shownFields(object: unknown): unknown {
  if (!isRecord(object)) return object ?? null
  return Object.fromEntries(Object.entries(object).filter(([field]) => !hiddenFields.has(field)))
}

function compare(path: string, before: unknown, after: unknown, changes: ChangedPath[]): void {
  if (isDeepStrictEqual(before, after)) return
  if (isRecord(before) && isRecord(after) && path.split('.').length < 6) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(path ? `${path}.${key}` : key, own(before, key), own(after, key), changes)
    }
    return
  }
  const named = [before, after].map((value) => (Array.isArray(value) ? byName(value) : null))
  if (named[0] && named[1]) compare(path, named[0], named[1], changes)
  else changes.push({ path, before: masked(before, path), after: masked(after, path) })
}

/** Null if absent. Tenants choose the keys: a variable may have the name `constructor`, which every object inherits. */
function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? (record[key] ?? null) : null
}

/** Lists of variables compare by name, so that a moved entry is no change, and without their ids. */
function byName(values: unknown[]): Record<string, unknown> | null {
  if (!values.every((value) => isRecord(value) && typeof value.name === 'string')) return null
  return Object.fromEntries(
    values.map((value) => {
      const { _id, ...variable } = value as { name: string; _id?: unknown }
      return [variable.name, variable]
    }),
  )
}

/** The address and the account of a contact point are read with showSecrets only (2.6), names included. */
const contactPointSetting = /^config\.(?!severity$|httpMethod$)/

/** A sealed value begins with `v1.key_` and is never shown. */
function masked(value: unknown, path: string): unknown {
  if (value === null) return value
  if (contactPointSetting.test(path)) return secretMask
  if (typeof value === 'string') return /^v1\.key_/.test(value) ? secretMask : value
  if (Array.isArray(value)) return value.map((item) => masked(item, path))
  if (isRecord(value)) {
    const hidden = value.isSecret === true
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        hidden && key === 'value' ? secretMask : masked(inner, path ? `${path}.${key}` : key),
      ]),
    )
  }
  return value
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
