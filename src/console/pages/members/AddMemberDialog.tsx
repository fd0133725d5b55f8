import { addMember } from '../../../contract/members.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { useForm } from '../../components/form.ts'
import { Problem } from '../../components/states.tsx'
import { TextField } from '../../components/TextField.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAccount } from '../../shell/account.ts'
import type { ListedEnvironment } from './access-draft.ts'

interface Props {
  environments: readonly ListedEnvironment[]
  /** `token` is null unless the platform returned one. */
  onAdded: (email: string, token: string | null) => void
  onClose: () => void
}

interface Draft {
  email: string
  name: string
  admin: boolean
  manageMembers: boolean
  allowedAppEnvIds: string[]
}
const emptyDraft: Draft = { email: '', name: '', admin: false, manageMembers: false, allowedAppEnvIds: [] }

export function AddMemberDialog({ environments, onAdded, onClose }: Props) {
  const { accountId, permissions } = useAccount()
  const write = useWrite(addMember)
  const form = useForm<Draft>({ id: `member ${accountId}`, stored: emptyDraft })
  const { email, name, admin, manageMembers, allowedAppEnvIds } = form.values
  const submit = () =>
    write.mutate(
      { accountId, ...form.values },
      {
        onSuccess({ token }) {
          toast(`Added ${email}.${token === null ? ' No token is shown here.' : ''}`)
          onAdded(email, token)
          onClose()
        },
      },
    )
  return (
    <Dialog
      title="Add a member"
      onClose={onClose}
      onSubmit={submit}
      actions={
        <button type="submit" className="button primary" disabled={write.isPending}>
          {write.isPending ? 'Adding…' : 'Add member'}
        </button>
      }
    >
      <TextField
        label="E-mail"
        name="email"
        error={write.error}
        value={email}
        required
        set={(text) => form.set({ email: text })}
      />
      <TextField
        label="Name"
        name="name"
        error={write.error}
        value={name}
        required
        set={(text) => form.set({ name: text })}
      />
      <Checkbox checked={admin} disabled={!permissions.admin} set={(checked) => form.set({ admin: checked })}>
        Admin: secrets, alerts, contact points, settings
      </Checkbox>
      <Checkbox checked={manageMembers} set={(checked) => form.set({ manageMembers: checked })}>
        Manage Members: this page
      </Checkbox>
      <EnvironmentChoice
        environments={environments}
        ids={allowedAppEnvIds}
        set={(ids) => form.set({ allowedAppEnvIds: ids })}
      />
      <Problem error={write.error} />
    </Dialog>
  )
}

interface ChoiceProps {
  environments: readonly ListedEnvironment[]
  ids: string[]
  set: (ids: string[]) => void
}

function EnvironmentChoice({ environments, ids, set }: ChoiceProps) {
  return (
    <details>
      <summary>
        {ids.length === 0 ? 'Full access to every environment' : `Access to ${ids.length} only`}
      </summary>
      <fieldset className="stack choice" style={{ gap: 4, marginTop: 8 }}>
        <legend className="muted small">Without a choice, the member gets full access.</legend>
        {environments.map(({ appEnvId, cliEnvName }) => (
          <Checkbox
            key={appEnvId}
            checked={ids.includes(appEnvId)}
            set={(checked) => set(checked ? [...ids, appEnvId] : ids.filter((id) => id !== appEnvId))}
          >
            {cliEnvName}
          </Checkbox>
        ))}
      </fieldset>
    </details>
  )
}
