import type { AppError } from '../../../errors.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Field } from '../../components/Field.tsx'
import { fieldLabel } from '../../words/fields.ts'
import type { ConfigInput } from './config-inputs.ts'

interface Props {
  input: ConfigInput
  value: string
  error: AppError | null
  set: (text: string) => void
  /** Null for a new contact point, which has no stored value to keep or remove. */
  stored: { removed: boolean; remove: (on: boolean) => void } | null
}

export function ConfigField({ input, value, error, set, stored }: Props) {
  const { name, hint, options, usual, isOptional = false, kind } = input
  const label = fieldLabel(name)
  return (
    <>
      <Field label={label} name={name} error={error} {...(hint ? { hint } : {})}>
        {(props) =>
          options ? (
            <select {...props} value={value} onChange={(event) => set(event.target.value)}>
              <option value="">{stored ? 'As it is' : `${usual} (default)`}</option>
              {options.map((option) => (
                <option key={option} value={option}>
                  {option}
                </option>
              ))}
            </select>
          ) : (
            <input
              {...props}
              type={kind === 'password' ? 'password' : 'text'}
              inputMode={kind === 'url' ? 'url' : 'text'}
              autoComplete="off"
              placeholder={stored ? 'Unchanged' : undefined}
              required={!isOptional && !stored}
              disabled={stored?.removed}
              value={value}
              onChange={(event) => set(event.target.value)}
            />
          )
        }
      </Field>
      {stored && isOptional && (
        <Checkbox className="small" checked={stored.removed} set={stored.remove}>
          Remove: {label.toLowerCase()}
        </Checkbox>
      )}
    </>
  )
}
