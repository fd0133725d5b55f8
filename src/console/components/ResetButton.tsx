import type { FormWrite } from './form.ts'

interface Props {
  form: { edited: readonly string[]; reset: () => void }
  write: FormWrite
}

/** Reverts the edits and clears their refusal; shown while there are edits. */
export function ResetButton({ form, write }: Props) {
  if (form.edited.length === 0) return null
  return (
    <button
      type="button"
      className="button"
      onClick={() => {
        form.reset()
        write.reset()
      }}
    >
      Reset
    </button>
  )
}
