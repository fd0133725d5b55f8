import { randomInt } from 'node:crypto'
import type { z } from 'zod'
import { listed } from '../../amounts.ts'
import { secretMask } from '../../contract/fields.ts'
import type { envVar, envVarChange, GeneratedValue } from '../../contract/variables.ts'
import { AppError } from '../../errors.ts'
import type { Settings, StoredVariable } from './environment.ts'

/** A variable whose clear value is not sealed yet; `keep` means the stored value, `source` is to be resolved. */
export interface WantedVariable extends Omit<StoredVariable, '_id' | 'value'> {
  _id: string | null
  value: { clear: string } | { keep: string } | { source: VariableSource }
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
  dependent?: Dependent,
): void {
  const sizeOf = (variables: readonly StoredVariable[]) =>
    variables.reduce((sum, one) => sum + Buffer.byteLength(one.name) + clearBytes(one), 0)
  const bytes = sizeOf(after)
  if (bytes <= mostBytes || bytes <= Math.max(...before.map(sizeOf))) return
  if (dependent) throw dependentTooLarge(dependent, bytes)
  throw new AppError('invalid', 'The variables of the environment are too large', {
    details: `Names and values would take ${bytes} bytes of UTF-8; at most ${mostBytes} (1 MiB) are allowed. Shorten or unset some, or keep large data in a file of the source, a volume or a database.`,
  })
}

/** An environment that takes values from the changed one. `shownName` is null if the caller may not see it (M2). */
export interface Dependent {
  shownName: string | null
}

function dependentTooLarge({ shownName }: Dependent, bytes: number): AppError {
  const which =
    shownName === null
      ? 'An environment that you cannot see takes values from this one, and its names and values would take'
      : `${shownName} takes values from this environment, and its names and values would take ${bytes} bytes of UTF-8,`
  return new AppError('invalid', 'The variables of a dependent environment are too large', {
    details: `${which} more than the ${mostBytes} (1 MiB) that are allowed. Shorten the value, or unset variables of ${shownName ?? 'the other environment'} first (update-app-env-variables).`,
  })
}

interface VariableSource {
  envName: string
  field: string
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
  return given.map((variable) => wanted(known.get(variable.name), { ...variable, type: typeOf(variable) }))
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
        ...change,
        name: variable.name,
        type: change?.type ?? variable.type,
        isSecret: change?.isSecret ?? variable.isSecret,
      })
    })
  const added = set
    .filter((change) => !known.has(change.name))
    .map((change) =>
      wanted(undefined, { ...change, type: typeOf(change), isSecret: change.isSecret ?? true }),
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
    throw new AppError('invalid', `No such variable: ${listed(missing)}`, {
      details: 'unset takes names of existing variables; get-app-env lists them.',
    })
  }
}

/** A value copied from a masked read, such as a database URL, would store the mask in place of the secret. */
function refuseMaskWithin(name: string, value: string): void {
  if (!value.includes(secretMask)) return
  throw new AppError('invalid', `Variable ${name} contains the mask of a secret`, {
    details: `${secretMask} stands for a secret that was not shown. To keep the stored value, send exactly ${secretMask} or leave the variable out of set; else refer to the value with from (envName and field, such as url of a database), or send all of it in clear.`,
  })
}

/** A reference is not given to builds by default: a value that a build reads stays in its image when the source changes. */
function typeOf({ type, from }: Pick<z.output<typeof envVar>, 'type' | 'from'>): StoredVariable['type'] {
  return type ?? (from ? 'DEPLOY' : 'BOTH')
}

type GivenVariable = Pick<z.output<typeof envVar>, 'name' | 'value' | 'from' | 'generate' | 'isSecret'> &
  Pick<StoredVariable, 'type'>

function wanted(before: StoredVariable | undefined, given: GivenVariable): WantedVariable {
  const { name, type, isSecret, value, from, generate } = given
  const _id = before?._id ?? null
  if (from?.envName === null) return keptReference(before, given)
  if (from) return { _id, name, type, isSecret, value: { source: { ...from, envName: from.envName } } }
  // No answer shows it, so it cannot be readable.
  if (generate) return { _id, name, type, isSecret: true, value: { clear: randomValue(generate) } }
  if (value !== undefined && value !== secretMask) {
    refuseMaskWithin(name, value)
    return { _id, name, type, isSecret, value: { clear: value } }
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
  const reference = before.from && { from: before.from }
  return { _id, name, type, isSecret, value: { keep: before.value }, ...reference }
}

/** A read shows no name of an environment that the caller may not see: written back, the reference stays. */
function keptReference(
  before: StoredVariable | undefined,
  { name, type, isSecret, from }: GivenVariable,
): WantedVariable {
  if (before?.from?.field === from?.field && before?.from && before.isSecret === isSecret)
    return { _id: before._id, name, type, isSecret, value: { keep: before.value }, from: before.from }
  throw new AppError('invalid', `Variable ${name} needs from.envName`, {
    details:
      'null stands for an environment that you cannot see, and keeps a reference that is there already.',
  })
}

const lettersAndDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

function randomValue({ length, alphabet = lettersAndDigits }: GeneratedValue): string {
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join('')
}

/** Ids of the environments that variables take values from. */
export function sourcesOf({ envVars }: Pick<Settings, 'envVars'>): string[] {
  return [...new Set(envVars.flatMap(({ from }) => from?.appEnvId ?? []))].sort()
}
