import { isRead, type Operation } from './operation.ts'

/** The scopes of agents (docs/interface.md#oauth), each with words for people. */
export const scopes = {
  'environments:read': 'Read apps, environments, logs, metrics, alerts and members',
  'environments:write': 'Create, change, deploy, start and stop apps and environments',
  'environments:delete': 'Delete apps, environments and backups, and restore backups',
  'alerts:write': 'Create, change and delete alerts and contact points',
  'access:write': 'Change account settings and the access of members, and undo changes',
  'secrets:read': 'See secret values, where this server shows them to agents',
} as const

export type Scope = keyof typeof scopes

export const allScopes = Object.keys(scopes) as readonly Scope[]

/** The scopes among words separated by spaces; words that are no scope of ours are left out. */
export function scopesIn(text: string): Scope[] {
  const words = new Set(text.split(' '))
  return allScopes.filter((scope) => words.has(scope))
}

const inputsOfSecrets = ['decrypt', 'showSecrets']

/** A call that is to answer secret values in clear text. */
export function showsSecrets(input: Record<string, unknown>): boolean {
  return inputsOfSecrets.some((name) => input[name] === true)
}

/**
 * The scopes that a call needs; null if no agent may make it, with any scope: an agent must not create tokens or members
 * that are less limited than itself.
 */
export function scopesOfCall(row: Operation, input: Record<string, unknown> = {}): Scope[] | null {
  if (row.peopleOnly === true && !isRead(row)) return null
  const scope = scopeOf(row)
  return showsSecrets(input) ? [scope, 'secrets:read'] : [scope]
}

function scopeOf(row: Operation): Scope {
  const { path, method, id } = row
  if (isRead(row)) return 'environments:read'
  if (/^\/(?:app-env\/)?alert(?:\/|$)|^\/contact-point(?:\/|$)/.test(path)) return 'alerts:write'
  if (/^\/(?:account|member|audit)(?:\/|$)/.test(path)) return 'access:write'
  if (method === 'DELETE' || id === 'restore-app-env-backup') return 'environments:delete'
  return 'environments:write'
}
