import { FormProblem } from './FormProblem.tsx'
import { type FormWrite, useForm } from './form.ts'
import { TextField } from './TextField.tsx'

interface Props {
  title: string
  label: string
  /** The object that has the name. */
  of: string
  name: string
  revision: number
  disabled?: boolean
  write: FormWrite
  onSave: (name: string, expectedRevision: number) => void
  /** Facts beside the button. */
  children?: React.ReactNode
}

/** The name of an account or environment. */
export function NameForm({ title, label, of, name, revision, disabled, write, onSave, children }: Props) {
  const form = useForm({ id: `name ${of}`, stored: { name }, revision })
  const save = (expectedRevision: number) => onSave(form.values.name, expectedRevision)
  return (
    <form
      className="panel"
      aria-label="Name"
      onSubmit={(event) => {
        event.preventDefault()
        save(form.since)
      }}
    >
      <header>
        <h2>{title}</h2>
      </header>
      <div className="body stack">
        <TextField
          label={label}
          name="name"
          error={write.error}
          value={form.values.name}
          disabled={disabled}
          set={(text) => form.set({ name: text })}
        />
        <FormProblem form={form} write={write} labelOf={() => label} save={save} />
        <div className="row">
          <button
            type="submit"
            className="button primary"
            disabled={write.isPending || form.edited.length === 0}
          >
            Save
          </button>
          {children}
        </div>
      </div>
    </form>
  )
}
