import type { z } from 'zod'
import { secretMask } from '../contract/fields.ts'
import type { envVar, envVarChange } from '../contract/variables.ts'
import { AppError } from '../errors.ts'
import type { StoredVariable } from './environment.ts'

/** A variable whose clear value is still to be sealed; `keep` stands for the stored value. */
export interface WantedVariable extends Omit<StoredVariable, '_id' | 'value'> {
  _id: string | null
  value: { clear: string } | { keep: string }
}

/**
 * E1: the array replaces all existing variables. A secret written back as the mask keeps its value, and
 * `isSecret` goes from true to false only together with a new value (goals.md, Secrets).
 */
export function replacedVariables(
  stored: readonly StoredVariable[],
  given: readonly z.output<typeof envVar>[],
): WantedVariable[] {
  const known = new Map(stored.map((variable) => [variable.name, variable]))
  return given.map((variable) => wanted(known.get(variable.name), variable))
}

/** `set` changes or adds, `unset` removes; the others keep value, type and secret flag (contract.md 2). */
export function changedVariables(
  stored: readonly StoredVariable[],
  set: readonly z.output<typeof envVarChange>[],
  unset: readonly string[],
): WantedVariable[] {
  const known = new Map(stored.map((variable) => [variable.name, variable]))
  refuseUnclearChange(known, set, unset)
  const removed = new Set(unset)
  const changes = new Map(set.map((change) => [change.name, change]))
  const kept = stored
    .filter((variable) => !removed.has(variable.name))
    .map((variable) => {
      const change = changes.get(variable.name)
      return wanted(variable, {
        name: variable.name,
        value: change?.value,
        type: change?.type ?? variable.type,
        isSecret: change?.isSecret ?? variable.isSecret,
      })
    })
  const added = set
    .filter((change) => !known.has(change.name))
    .map((change) =>
      wanted(undefined, {
        name: change.name,
        value: change.value,
        type: change.type ?? 'BOTH',
        isSecret: change.isSecret ?? true,
      }),
    )
  return [...kept, ...added]
}

function refuseUnclearChange(
  known: ReadonlyMap<string, StoredVariable>,
  set: readonly { name: string }[],
  unset: readonly string[],
): void {
  const names = set.map((change) => change.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index || unset.includes(name))
  if (twice !== undefined) {
    throw new AppError('invalid', `Variable ${twice} is named twice`, {
      details: 'Name each variable once, in set or in unset.',
    })
  }
  const missing = unset.filter((name) => !known.has(name))
  if (missing.length > 0) {
    throw new AppError('invalid', `No such variable: ${missing.join(', ')}`, {
      details: 'unset takes names of existing variables; get-app-env lists them.',
    })
  }
}

function wanted(
  before: StoredVariable | undefined,
  given: { name: string; value: string | undefined; type: StoredVariable['type']; isSecret: boolean },
): WantedVariable {
  const { name, type, isSecret } = given
  const keeps = given.value === undefined || (given.value === secretMask && (before?.isSecret ?? true))
  if (!keeps)
    return { _id: before?._id ?? null, name, type, isSecret, value: { clear: given.value as string } }
  if (!before) {
    throw new AppError('invalid', `Variable ${name} needs a value`, {
      details: `${secretMask} means "keep the stored value", and there is no variable of this name yet.`,
    })
  }
  if (before.isSecret && !isSecret) {
    throw new AppError('invalid', `Variable ${name} is secret`, {
      details: 'A secret becomes readable only together with a new value: send value and isSecret false.',
    })
  }
  return { _id: before._id, name, type, isSecret, value: { keep: before.value } }
}
