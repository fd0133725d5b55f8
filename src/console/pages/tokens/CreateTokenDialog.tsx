import { createUserToken } from '../../../contract/users.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { useForm } from '../../components/form.ts'
import { Problem } from '../../components/states.tsx'
import { TextField } from '../../components/TextField.tsx'

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
      <TextField
        label="Name"
        name="name"
        error={write.error}
        hint="What it is for, such as “Claude on my laptop”"
        value={name}
        required
        set={(text) => form.set({ name: text })}
      />
      <Checkbox checked={readOnly} set={(checked) => form.set({ readOnly: checked })}>
        Read-only: it can change nothing
      </Checkbox>
      <Problem error={write.error} />
    </Dialog>
  )
}
