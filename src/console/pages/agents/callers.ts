import { callerWords, type Entry } from '../activity/entries.ts'

/** One principal on one surface of the audit log; agents of a person differ by their names. */
export interface Caller {
  principalId: string
  surface: Entry['surface']
  /** How the agent names itself; null for people and programs. */
  agent: string | null
  name: string
  /** It acts as an agent, through MCP or with a token for agents. */
  isAgent: boolean
  done: number
  refused: number
  /** By the policy; of `refused`. */
  denied: number
  /** Done while the policy was only observed, which would have held or denied it. */
  observed: number
  lastAt: string
  firstAt: string
}

/** A policy in force refused the call. */
export function isDenied({ outcome, policy }: Entry): boolean {
  return outcome === 'refused' && policy?.mode === 'enforce' && policy.effect === 'deny'
}

/** Done, although the policy would have stopped it if it were in force. */
export function isObserved({ outcome, policy }: Entry): boolean {
  return outcome === 'done' && policy?.mode === 'observe' && policy.effect !== 'allow'
}

/** Callers in the entries (newest first), most recent caller first. */
export function callersOf(entries: readonly Entry[]): Caller[] {
  const known = new Map<string, Caller>()
  for (const entry of entries) {
    const { principal, surface, agent, outcome, timestamp } = entry
    const key = `${principal.id} ${surface} ${agent}`
    const caller = known.get(key) ?? {
      principalId: principal.id,
      surface,
      agent,
      name: callerWords(entry),
      isAgent: surface === 'mcp' || entry.callerKind === 'agent',
      ...{ done: 0, refused: 0, denied: 0, observed: 0 },
      lastAt: timestamp,
      firstAt: timestamp,
    }
    caller[outcome] += 1
    caller.denied += isDenied(entry) ? 1 : 0
    caller.observed += isObserved(entry) ? 1 : 0
    caller.firstAt = timestamp
    known.set(key, caller)
  }
  return [...known.values()]
}

/** The entries of one agent session, summed up. */
export interface Session {
  sessionId: string
  done: number
  refused: number
  firstAt: string
  lastAt: string
}

/** Sessions in the entries (newest first), most recent session first. */
export function sessionsOf(entries: readonly Entry[]): Session[] {
  const known = new Map<string, Session>()
  for (const { sessionId, outcome, timestamp } of entries) {
    if (sessionId === null) continue
    const session = known.get(sessionId) ?? { sessionId, done: 0, refused: 0, firstAt: '', lastAt: timestamp }
    session[outcome] += 1
    session.firstAt = timestamp
    known.set(sessionId, session)
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
    row[outcome] += 1
    known.set(operation, row)
  }
  return [...known.values()].sort((a, b) => b.done + b.refused - a.done - a.refused)
}
