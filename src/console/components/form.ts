import { useEffect, useState } from 'react'
import type { AppError } from '../../errors.ts'
import { useKept } from '../api/drafts.ts'

interface Kept<V> {
  typed: Partial<V>
  /** The revision at which the person began: a change by somebody else meanwhile is then a conflict. */
  since: number
}

export interface Form<V extends object> {
  /** Typed values; stored values for untouched inputs. */
  values: V
  stored: V
  /** Names of the inputs that differ from the stored values. */
  edited: (keyof V & string)[]
  since: number
  /** The stored values as last read. */
  revision: number
  set(change: Partial<V>): void
  /** Called after the platform saved the typed values. */
  saved(): void
  reset(): void
}

interface Options<V extends object> {
  /** Under which name unsaved text is kept: unique on the page, and for its object. */
  id: string
  stored: V
  revision?: number
  /** Inputs that are never kept outside the page: passwords, secrets, values of variables. */
  secrets?: readonly (keyof V & string)[]
}

/** One form: untouched inputs follow the platform, touched ones keep the typed value. */
export function useForm<V extends object>({ id, stored, revision = 0, secrets = [] }: Options<V>): Form<V> {
  const [{ typed, since }, keep] = useKept<Kept<V>>(id, { typed: {}, since: revision }, (value) => {
    const rest = { ...value.typed }
    for (const name of secrets) delete rest[name]
    return Object.keys(rest).length > 0 ? { ...value, typed: rest } : null
  })
  const editedOf = (values: Partial<V>) =>
    (Object.keys(values) as (keyof V & string)[]).filter(
      (name) => JSON.stringify(values[name]) !== JSON.stringify(stored[name]),
    )
  const edited = editedOf(typed)
  const [savedAt, setSavedAt] = useState<number | null>(null)
  const isRead = savedAt !== null && savedAt !== revision
  const isSaved = Object.keys(typed).length > 0 && (edited.length === 0 || isRead)
  // Saved values count as untouched once the page has read the platform again.
  useEffect(() => {
    if (!isSaved) return
    keep({ typed: {}, since: revision })
    setSavedAt(null)
  }, [isSaved, keep, revision])
  return {
    values: { ...stored, ...typed },
    stored,
    edited,
    since: edited.length > 0 ? since : revision,
    revision,
    set(change) {
      setSavedAt(null)
      keep((before) => ({
        typed: { ...before.typed, ...change },
        since: editedOf(before.typed).length > 0 ? before.since : revision,
      }))
    },
    saved: () => setSavedAt(revision),
    reset: () => keep({ typed: {}, since: revision }),
  }
}

/** The parts of a write that a form needs. */
export interface FormWrite {
  error: AppError | null
  isPending: boolean
  isSuccess: boolean
  reset(): void
}
