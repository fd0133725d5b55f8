import { useEffect, useRef, useState } from 'react'

/**
 * What a person typed and did not save, in the storage of this tab: it survives an expired session and a reload.
 * Secrets never come here, and signing out clears it.
 */
const prefix = 'longshore-draft '
const owner = 'longshore-draft-owner'
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
    for (const key of Object.keys(sessionStorage))
      if (key.startsWith(prefix) || key === owner) sessionStorage.removeItem(key)
  },
}

function read<T>(key: string): T | undefined {
  const text = sessionStorage.getItem(prefix + key)
  return text === null ? undefined : JSON.parse(text)
}

function write(key: string, value: unknown): void {
  if (value === null || value === undefined) sessionStorage.removeItem(prefix + key)
  else sessionStorage.setItem(prefix + key, JSON.stringify(value))
}

/**
 * `useState` that is kept until the person leaves the page: for forms, and for which dialog is open. `toKeep` takes
 * out what must not be stored; null stores nothing.
 */
export function useKept<T>(key: string, initial: T, toKeep: (value: T) => unknown = (value) => value) {
  const first = useRef(initial)
  const [value, set] = useState<T>(() => read<T>(key) ?? initial)
  // biome-ignore lint/correctness/useExhaustiveDependencies: toKeep is the same function in other words
  useEffect(() => {
    write(key, value === first.current ? null : toKeep(value))
  }, [key, value])
  useEffect(
    () => () => {
      if (!isSessionOver) write(key, null)
    },
    [key],
  )
  return [value, set] as const
}
