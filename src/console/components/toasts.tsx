import { useSyncExternalStore } from 'react'
import { inWords } from '../words/text.ts'

interface Toast {
  id: number
  text: string
}

let toasts: readonly Toast[] = []
let last = 0
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

/** Confirms a completed action. Errors are shown in the form instead. */
export function toast(text: string): void {
  last += 1
  const id = last
  set([...toasts.slice(-3), { id, text: inWords(text) }])
  setTimeout(() => set(toasts.filter((one) => one.id !== id)), 8_000)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text }) => (
        <div key={id} className="toast">
          {text}
        </div>
      ))}
    </div>
  )
}
