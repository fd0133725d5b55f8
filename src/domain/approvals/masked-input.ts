import { secretMask } from '../../contract/fields.ts'

/** Settings of contact points that name no address and no account (2.6). */
const shownSettings = new Set(['severity', 'httpMethod'])

/** Inputs that hold a secret under any operation. */
const secretKeys = new Set(['password', 'webhookUrl', 'integrationKey', 'token', 'secret', 'key', 'headers'])

/**
 * The input of a call as people and agents may see it while it waits. A variable's value is shown only where the call
 * itself says that it is not a secret.
 */
export function maskedInput(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => maskedInput(one))
  if (typeof value !== 'object' || value === null) return value
  const record = value as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(record).map(([name, inner]) => [
      name,
      isSecret(key, name, record) ? masked(inner) : maskedInput(inner, name),
    ]),
  )
}

function isSecret(parent: string, name: string, record: Record<string, unknown>): boolean {
  if (parent === 'config') return !shownSettings.has(name)
  if (name === 'value') return record.isSecret !== false
  return secretKeys.has(name)
}

/** An empty value is shown: it clears a setting. */
function masked(value: unknown): unknown {
  return value === '' || value === null || value === undefined ? value : secretMask
}
