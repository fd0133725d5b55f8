import { createUserToken } from '../../../contract/users.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { ChoiceField } from '../../components/ChoiceField.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { Field } from '../../components/Field.tsx'
import { useForm } from '../../components/form.ts'
import { Problem } from '../../components/states.tsx'
import { TextField } from '../../components/TextField.tsx'
import { expiresAtOf, spans, today } from './expiry.ts'

interface Props {
  onMade: (name: string, token: string) => void
  onClose: () => void
}

export function CreateTokenDialog({ onMade, onClose }: Props) {
  const form = useForm({ id: 'token', stored: { name: '', readOnly: false, expiry: 'never', date: '' } })
  const { name, readOnly, expiry, date } = form.values
  const write = useWrite(createUserToken)
  const submit = () =>
    write.mutate(
      { name, readOnly, ...expiresAtOf(expiry, date) },
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
      <ChoiceField
        label="Expires"
        name="expiresAt"
        error={expiry === 'date' ? null : write.error}
        choices={[['never', 'Never'], ...spans, ['date', 'On a date…']]}
        value={expiry}
        set={(choice) => form.set({ expiry: choice })}
      />
      {expiry === 'date' && (
        <Field label="Last day" name="expiresAt" error={write.error} hint="It expires at the end of this day">
          {(props) => (
            <input
              {...props}
              type="date"
              value={date}
              min={today()}
              required
              onChange={(event) => form.set({ date: event.target.value })}
            />
          )}
        </Field>
      )}
      <Checkbox checked={readOnly} set={(checked) => form.set({ readOnly: checked })}>
        Read-only: it can change nothing
      </Checkbox>
      <Problem error={write.error} />
    </Dialog>
  )
}
