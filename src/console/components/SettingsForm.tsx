import { fieldLabel } from '../words/fields.ts'
import { Field } from './Field.tsx'
import { FormProblem } from './FormProblem.tsx'
import { type FormWrite, useForm } from './form.ts'
import { ResetButton } from './ResetButton.tsx'

export interface NumberSetting {
  /** The field of the interface, whose words label the input. */
  name: string
  /** Unit or meaning, shown below the input. */
  hint: string
  /** Null: no value, an empty input. */
  value: number | null
  min?: number
  max?: number
}

interface Props {
  title: string
  /** The object whose settings these are. */
  of: string
  settings: readonly NumberSetting[]
  /** The object of the interface that holds them, such as `functionConfig`. */
  group?: string
  revision: number
  /** Label of the button. */
  action: string
  write: FormWrite
  children?: React.ReactNode
  onSave: (changed: Record<string, number | null>, expectedRevision: number) => void
}

const numberOf = (typed: string | undefined): number | null => (typed === '' ? null : Number(typed))

/** Whole numbers edited together. */
export function SettingsForm(props: Props) {
  const { title, of, settings, group, revision, action, write, children, onSave } = props
  const labelOf = (name: string) => fieldLabel(group === undefined ? name : `${group}.${name}`)
  const stored = Object.fromEntries(settings.map(({ name, value }) => [name, String(value ?? '')]))
  const form = useForm<Record<string, string>>({ id: `${title} ${of}`, stored, revision })
  const isConflict = write.error?.kind === 'conflict' && form.edited.length > 0
  const save = (expectedRevision: number) =>
    onSave(
      Object.fromEntries(form.edited.map((name) => [name, numberOf(form.values[name])])),
      expectedRevision,
    )
  return (
    <form
      className="panel"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault()
        save(form.since)
      }}
    >
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body stack">
        <div className="fields">
          {settings.map(({ name, hint, min, max }) => (
            <Field key={name} label={labelOf(name)} name={name} error={write.error} hint={hint}>
              {(input) => (
                <input
                  {...input}
                  type="number"
                  min={min}
                  max={max}
                  value={form.values[name]}
                  onChange={(event) => form.set({ [name]: event.target.value })}
                />
              )}
            </Field>
          ))}
        </div>
        {children}
        <FormProblem form={form} write={write} labelOf={labelOf} save={save} />
        <div className="row">
          <button
            type="submit"
            className="button primary"
            disabled={write.isPending || form.edited.length === 0 || isConflict}
          >
            {write.isPending ? 'Saving…' : action}
          </button>
          {!isConflict && <ResetButton form={form} write={write} />}
        </div>
      </div>
    </form>
  )
}
