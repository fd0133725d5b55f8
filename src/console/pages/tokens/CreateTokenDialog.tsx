import { createUserToken } from '../../../contract/users.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../components/Dialog.tsx'
import { Field } from '../../components/Field.tsx'
import { useForm } from '../../components/form.ts'
import { Problem } from '../../components/states.tsx'

interface Props {
  onMade: (name: string, token: string) => void
  onClose: () => void
}

export function CreateTokenDialog({ onMade, onClose }: Props) {
  const form = useForm({ id: 'token', stored: { name: '', readOnly: false } })
  const { name, readOnly } = form.values
  const write = useWrite(createUserToken)
  const submit = () =>
    write.mutate(
      { name, readOnly },
      {
        onSuccess({ token }) {
          onMade(name, token)
          onClose()
        },
      },
    )
  return (
    <Dialog
      title="Create a token"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <button type="submit" className="button primary" disabled={write.isPending}>
          {write.isPending ? 'Creating…' : 'Create'}
        </button>
      }
    >
      <Field
        label="Name"
        name="name"
        error={write.error}
        hint="What it is for, such as “Claude on my laptop”"
      >
        {(props) => (
          <input
            {...props}
            value={name}
            required
            onChange={(event) => form.set({ name: event.target.value })}
          />
        )}
      </Field>
      <label className="row">
        <input
          type="checkbox"
          checked={readOnly}
          onChange={(event) => form.set({ readOnly: event.target.checked })}
        />
        Read-only: it can change nothing
      </label>
      <Problem error={write.error} />
    </Dialog>
  )
}
