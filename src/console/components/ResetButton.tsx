import type { FormWrite } from './form.ts'

interface Props {
  form: { edited: readonly string[]; reset: () => void }
  write: FormWrite
}

/** Takes back what was typed, and the refusal of it; there while something is edited. */
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
