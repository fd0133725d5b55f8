import type { AppError } from '../../errors.ts'
import { Field } from './Field.tsx'

interface Props
  extends Pick<React.ComponentProps<'input'>, 'className' | 'disabled' | 'maxLength' | 'required'> {
  label: string
  name: string
  value: string
  set: (text: string) => void
  error: AppError | null
  hint?: string
}

/** One line of text with its label. */
export function TextField({ label, name, error, hint, set, ...input }: Props) {
  return (
    <Field label={label} name={name} error={error} {...(hint === undefined ? {} : { hint })}>
      {(props) => <input {...props} {...input} onChange={(event) => set(event.target.value)} />}
    </Field>
  )
}
