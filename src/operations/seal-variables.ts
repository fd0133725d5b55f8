import type { StoredVariable } from '../domain/environment.ts'
import { newId } from '../domain/ids.ts'
import type { WantedVariable } from '../domain/variables.ts'
import type { SecretBox } from '../store/secret-box.ts'

/**
 * E2: secret values are sealed before they are stored. An unchanged secret keeps its sealed form, so writing the
 * same value again is no pending change.
 */
export function sealVariables(
  secrets: SecretBox,
  appEnvId: string,
  stored: readonly StoredVariable[],
  wanted: readonly WantedVariable[],
): StoredVariable[] {
  const before = new Map(stored.map((variable) => [variable.name, variable]))
  return wanted.map(({ _id, name, type, isSecret, value }) => {
    const known = before.get(name)
    const row = { _id: _id ?? newId('var'), name, type, isSecret }
    const boundTo = `${appEnvId}/${name}`
    if ('keep' in value) {
      // A plain variable that becomes secret is sealed now; a secret one keeps what is sealed.
      const seals = isSecret && known?.isSecret === false
      return { ...row, value: seals ? secrets.seal(value.keep, boundTo) : value.keep }
    }
    if (!isSecret) return { ...row, value: value.clear }
    const same = known?.isSecret && secrets.open(known.value, boundTo) === value.clear
    return { ...row, value: same ? known.value : secrets.seal(value.clear, boundTo) }
  })
}
