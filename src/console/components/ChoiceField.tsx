import type { AppError } from '../../errors.ts'
import { Field } from './Field.tsx'

/** One of a few choices with its label. */
export function ChoiceField({
  label,
  name,
  error,
  hint,
  choices,
  value,
  set,
}: {
  label: string
  name: string
  error: AppError | null
  hint?: string | undefined
  choices: readonly (readonly [choice: string, words: string])[]
  value: string
  set: (choice: string) => void
}) {
  return (
    <Field label={label} name={name} error={error} {...(hint === undefined ? {} : { hint })}>
      {(props) => (
        <select {...props} value={value} onChange={(event) => set(event.target.value)}>
          {choices.map(([choice, words]) => (
            <option key={choice} value={choice}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
