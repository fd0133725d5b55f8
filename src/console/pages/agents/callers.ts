import { actor, type Entry } from '../activity/entries.ts'

/** One principal on one surface of the audit log; a person's agent is that person over MCP. */
export interface Caller {
  principalId: string
  surface: string
  name: string
  done: number
  refused: number
  lastAt: string
  firstAt: string
}

/** Callers in the entries (newest first), most recent caller first. */
export function callersOf(entries: readonly Entry[]): Caller[] {
  const known = new Map<string, Caller>()
  for (const entry of entries) {
    const { principal, surface, outcome, timestamp } = entry
    const key = `${principal.id} ${surface}`
    const caller = known.get(key) ?? {
      principalId: principal.id,
      surface,
      name: actor(entry),
      done: 0,
      refused: 0,
      lastAt: timestamp,
      firstAt: timestamp,
    }
    caller[outcome === 'done' ? 'done' : 'refused'] += 1
    caller.firstAt = timestamp
    known.set(key, caller)
  }
  return [...known.values()]
}

/** Completed and rejected calls of each operation, most frequent first. */
export function operationsOf(
  entries: readonly Entry[],
): { operation: string; done: number; refused: number }[] {
  const known = new Map<string, { operation: string; done: number; refused: number }>()
  for (const { operation, outcome } of entries) {
    const row = known.get(operation) ?? { operation, done: 0, refused: 0 }
    row[outcome === 'done' ? 'done' : 'refused'] += 1
    known.set(operation, row)
  }
  return [...known.values()].sort((a, b) => b.done + b.refused - a.done - a.refused)
}
