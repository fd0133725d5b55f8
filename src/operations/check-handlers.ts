import { operations } from '../contract/index.ts'
import type { Policy } from '../contract/operation.ts'
import type { Handler } from './handler.ts'

/** Every kind of policy that `authorise` decides; the type makes this list complete. */
const decided: Record<Policy['on'], true> = {
  installation: true,
  account: true,
  member: true,
  app: true,
  'account-or-app': true,
  environment: true,
  'contact-point': true,
  alert: true,
  'journal-entry': true,
  'job-run': true,
  backup: true,
  'new-environment': true,
}

/** A row without a policy or a handler, or a handler without a row, must stop the start, not wait for a caller. */
export function checkHandlers(
  handlers: readonly Handler[],
  rows: readonly Handler['operation'][] = operations,
): ReadonlyMap<string, Handler> {
  const byId = new Map(handlers.map((handler) => [handler.operation.id, handler]))
  if (byId.size !== handlers.length) throw new Error('two handlers carry out the same operation')
  for (const row of rows) {
    const policy: { on?: string } | undefined = row.policy
    if (policy === undefined || !Object.hasOwn(decided, policy.on ?? '')) {
      throw new Error(`${row.id} states no policy that the authorisation knows`)
    }
    if (byId.get(row.id)?.operation !== row) throw new Error(`no handler carries out ${row.id}`)
  }
  const known = new Set(rows.map(({ id }) => id))
  const stray = handlers.find(({ operation }) => !known.has(operation.id))
  if (stray) throw new Error(`${stray.operation.id} is no row of the contract`)
  return byId
}
