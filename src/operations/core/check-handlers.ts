import { operations } from '../../contract/index.ts'
import { isPolicyTarget } from '../../contract/resources.ts'
import type { Handler } from './handler.ts'

/** An operation without a policy or a handler, or a handler without an operation, stops the start. */
export function checkHandlers(
  handlers: readonly Handler[],
  rows: readonly Handler['operation'][] = operations,
): ReadonlyMap<string, Handler> {
  const byId = new Map(handlers.map((handler) => [handler.operation.id, handler]))
  if (byId.size !== handlers.length) throw new Error('two handlers carry out the same operation')
  for (const row of rows) {
    const policy: { on?: string } | undefined = row.policy
    if (!isPolicyTarget(policy?.on ?? '')) {
      throw new Error(`${row.id} states no policy that the authorization knows`)
    }
    if (byId.get(row.id)?.operation !== row) throw new Error(`no handler carries out ${row.id}`)
  }
  const known = new Set(rows.map(({ id }) => id))
  const stray = handlers.find(({ operation }) => !known.has(operation.id))
  if (stray) throw new Error(`${stray.operation.id} is no row of the contract`)
  return byId
}
