import type { z } from 'zod'
import { secretMask } from '../../contract/fields.ts'
import type { envVar, envVarChange } from '../../contract/variables.ts'
import { AppError } from '../../errors.ts'
import type { StoredVariable } from './environment.ts'

/** A variable whose clear value is not sealed yet; `keep` means the stored value. */
export interface WantedVariable extends Omit<StoredVariable, '_id' | 'value'> {
  _id: string | null
  value: { clear: string } | { keep: string }
}

/** UTF-8 bytes of the names and values of one environment's variables (docs/interface.md#variables). */
const mostBytes = 1024 * 1024

/**
 * Refuses a change to more than `mostBytes`, by whichever operation. Settings that were larger before the limit existed
 * stay readable and may shrink. `clearBytes` is the size of a stored value, which is sealed if it is secret.
 */
export function checkVariableBytes(
  before: readonly (readonly StoredVariable[])[],
  after: readonly StoredVariable[],
  clearBytes: (variable: StoredVariable) => number,
): void {
  const sizeOf = (variables: readonly StoredVariable[]) =>
    variables.reduce((sum, one) => sum + Buffer.byteLength(one.name) + clearBytes(one), 0)
  const bytes = sizeOf(after)
  if (bytes <= mostBytes || bytes <= Math.max(...before.map(sizeOf))) return
  throw new AppError('invalid', 'The variables of the environment are too large', {
    details: `Names and values would take ${bytes} bytes of UTF-8; at most ${mostBytes} (1 MiB) are allowed. Shorten or unset some, or keep large data in a file of the source, a volume or a database.`,
  })
}

/**
 * E1: the array replaces all existing variables. A value equal to the mask keeps the stored one, and `isSecret` can
 * change from true to false only together with a new value (docs/interface.md#secrets).
 */
export function replacedVariables(
  stored: readonly StoredVariable[],
  given: readonly z.output<typeof envVar>[],
): WantedVariable[] {
  const known = new Map(stored.map((variable) => [variable.name, variable]))
  return given.map((variable) => wanted(known.get(variable.name), variable))
}

/** `set` changes or adds, `unset` removes; the others stay unchanged (docs/interface.md#variables). */
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

/** A value copied from a masked read, such as a database URL, would store the mask in place of the secret. */
function refuseMaskWithin(name: string, value: string): void {
  if (!value.includes(secretMask)) return
  throw new AppError('invalid', `Variable ${name} contains the mask of a secret`, {
    details: `${secretMask} stands for a secret that was not shown. To keep the stored value, send exactly ${secretMask} or leave the variable out of set; else send the whole value in clear, which an admin reads with decrypt=true.`,
  })
}

function wanted(
  before: StoredVariable | undefined,
  given: { name: string; value: string | undefined; type: StoredVariable['type']; isSecret: boolean },
): WantedVariable {
  const { name, type, isSecret, value } = given
  if (value !== undefined && value !== secretMask) {
    refuseMaskWithin(name, value)
    return { _id: before?._id ?? null, name, type, isSecret, value: { clear: value } }
  }
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
