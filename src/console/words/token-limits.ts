import { counted } from '../components/words.ts'
import type { NameOf } from './values.ts'

interface Limits {
  readOnly: boolean
  scopes: readonly string[] | null
  accountId: string | null
  appId: string | null
  appEnvIds: readonly string[] | null
  toolGroups: readonly string[] | null
  mayPropose: boolean
}

/** "Reads only; in shop-live; may propose the rest". */
export function limitsWords(limits: Limits, nameOf: NameOf): string {
  const { readOnly, scopes, accountId, appId, appEnvIds, toolGroups, mayPropose } = limits
  const names = appEnvIds?.map(nameOf)
  const place = names
    ? `in ${names.every((name) => name !== undefined) ? names.join(', ') : counted(names.length, 'environment')}`
    : appId !== null
      ? 'in one app'
      : accountId !== null
        ? 'in one account'
        : null
  const narrowed = readOnly || scopes !== null || toolGroups !== null
  const parts = [
    readOnly ? 'Reads only' : narrowed ? null : 'Everything you may',
    scopes === null ? null : scopes.join(', '),
    toolGroups === null ? null : `tools: ${toolGroups.join(', ')}`,
    place,
    narrowed && mayPropose ? 'may propose the rest' : null,
  ]
  return parts.filter((part) => part !== null).join('; ')
}
