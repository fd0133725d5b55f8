import { useEffect, useRef, useState } from 'react'

/**
 * Unsaved input, in the storage of this tab, so that it survives an expired session and a reload. Secrets are kept in
 * memory only, so they survive just an expired session. Signing out clears both.
 */
const prefix = 'longshore-draft '
const owner = 'longshore-draft-owner'
const inMemory = new Map<string, unknown>()
let isSessionOver = false

export const drafts = {
  /** The redirect to the sign-in page keeps the typed values. */
  sessionEnded(): void {
    isSessionOver = true
  },
  /** Removes values that another person typed in this tab. */
  belongTo(userId: string): void {
    const before = sessionStorage.getItem(owner)
    if (before !== null && before !== userId) drafts.clear()
    sessionStorage.setItem(owner, userId)
    isSessionOver = false
  },
  clear(): void {
    inMemory.clear()
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(prefix) || key === owner) sessionStorage.removeItem(key)
  },
}

function read<T>(key: string): T | undefined {
  if (inMemory.has(key)) return inMemory.get(key) as T
  const text = sessionStorage.getItem(prefix + key)
  return text === null ? undefined : JSON.parse(text)
}

/** `stored`: the part without secrets; null for nothing. */
function write(key: string, value: unknown, stored: unknown): void {
  if (value === null) inMemory.delete(key)
  else inMemory.set(key, value)
  if (stored === null || stored === undefined) sessionStorage.removeItem(prefix + key)
  else sessionStorage.setItem(prefix + key, JSON.stringify(stored))
}

/**
 * `useState` that is kept until the person leaves the page: for forms, and for the open dialog. `toStore` removes the values
 * that must stay in memory; if it returns null, the value is not stored.
 */
export function useKept<T>(key: string, initial: T, toStore: (value: T) => unknown = (value) => value) {
  const first = useRef(initial)
  const [value, set] = useState<T>(() => read<T>(key) ?? initial)
  // biome-ignore lint/correctness/useExhaustiveDependencies: toStore is the same function in other words
  useEffect(() => {
    if (value === first.current) write(key, null, null)
    else write(key, value, toStore(value))
  }, [key, value])
  useEffect(
    () => () => {
      if (!isSessionOver) write(key, null, null)
    },
    [key],
  )
  return [value, set] as const
}
