import type { Environment, StoredVariable } from '../../domain/environments/environment.ts'
import { checkVariableBytes, type Dependent } from '../../domain/environments/variables.ts'
import { newId } from '../../domain/ids.ts'
import { Pacer } from '../../pacer.ts'
import { clearBytes, type SecretBox } from '../../store/secrets/secret-box.ts'

/** A variable with its references resolved; `keep` means the stored value. */
export type ClearVariable = Omit<StoredVariable, '_id' | 'value'> & {
  _id: string | null
  value: { clear: string } | { keep: string }
}

/**
 * E2: encrypts secret values before they are stored. An unchanged secret keeps its encrypted form, so writing the
 * same value again is not a pending change.
 */
export async function sealVariables(
  secrets: SecretBox,
  appEnvId: string,
  stored: readonly StoredVariable[],
  wanted: readonly ClearVariable[],
): Promise<StoredVariable[]> {
  const before = new Map(stored.map((variable) => [variable.name, variable]))
  const pacer = new Pacer()
  const sealed: StoredVariable[] = []
  for (const variable of wanted) {
    const row = sealVariable(secrets, appEnvId, before.get(variable.name), variable)
    sealed.push(row)
    // The old value is opened and the new one sealed.
    await pacer.after('keep' in variable.value ? 0 : 2 * row.value.length)
  }
  return sealed
}

function sealVariable(
  secrets: SecretBox,
  appEnvId: string,
  known: StoredVariable | undefined,
  { _id, value, ...rest }: ClearVariable,
): StoredVariable {
  const row = { _id: _id ?? newId('var'), ...rest }
  const boundTo = `${appEnvId}/${rest.name}`
  if ('keep' in value) {
    // Encrypt a plain variable that becomes secret; keep the encrypted value of a secret one.
    const seals = rest.isSecret && known?.isSecret === false
    return { ...row, value: seals ? secrets.seal(value.keep, boundTo) : value.keep }
  }
  if (!rest.isSecret) return { ...row, value: value.clear }
  const same = known?.isSecret && secrets.open(known.value, boundTo) === value.clear
  return { ...row, value: same ? known.value : secrets.seal(value.clear, boundTo) }
}

/** The size limit, for every operation that makes or changes an environment, or the source of its references. */
export function checkSavedVariables(
  before: Environment | null,
  { saved }: Environment,
  dependent?: Dependent,
): void {
  const known = before ? [before.saved.envVars, before.applied.envVars] : []
  const bytesOf = ({ value, isSecret }: StoredVariable) =>
    isSecret ? clearBytes(value) : Buffer.byteLength(value)
  checkVariableBytes(known, saved.envVars, bytesOf, dependent)
}
