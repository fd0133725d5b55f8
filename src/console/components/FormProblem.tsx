import { useEffect } from 'react'
import { ApprovalPending } from '../../client/approval-pending.ts'
import { Conflict } from './Conflict.tsx'
import type { Form, FormWrite } from './form.ts'
import { Problem } from './states.tsx'

interface Props<V extends object> {
  form: Form<V>
  write: FormWrite
  /** The label of an input. */
  labelOf: (name: keyof V & string) => string
  /** Inputs whose values are not shown, typed or stored. */
  secrets?: readonly (keyof V & string)[]
  save: (expectedRevision: number) => void
  /** Called after the person accepted the stored values; a dialog closes. */
  onTaken?: () => void
}

/**
 * The end of a form: why it was refused, or that it was saved. After a revision conflict: both versions, and
 * the choice between them.
 */
export function FormProblem<V extends object>(props: Props<V>) {
  const { form, write, labelOf, secrets = [], save, onTaken } = props
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each write
  useEffect(() => {
    if (write.isSuccess) form.saved()
  }, [write.isSuccess])
  const isHeld = write.error instanceof ApprovalPending
  if (isHeld || write.error?.kind !== 'conflict' || form.edited.length === 0)
    return <Problem error={write.error} />
  const shown = (name: keyof V & string, value: unknown) =>
    secrets.includes(name) ? 'not shown' : wordsOf(value)
  return (
    <Conflict
      fields={form.edited.map((name) => ({
        label: labelOf(name),
        mine: shown(name, form.values[name]),
        theirs: shown(name, form.stored[name]),
      }))}
      pending={write.isPending}
      saveMine={() => save(form.revision)}
      takeTheirs={() => {
        form.reset()
        write.reset()
        onTaken?.()
      }}
    />
  )
}

function wordsOf(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  return value === '' || value === null || value === undefined ? 'none' : String(value)
}
