import {
  type ContactPoint,
  type ContactPointType,
  createContactPoint,
  updateContactPoint,
} from '../../../contract/contact-points.ts'
import type { AppError } from '../../../errors.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../components/Dialog.tsx'
import { Field } from '../../components/Field.tsx'
import { FormProblem } from '../../components/FormProblem.tsx'
import { type Form, useForm } from '../../components/form.ts'
import { TextField } from '../../components/TextField.tsx'
import { toast } from '../../components/toasts.tsx'
import { useAccount } from '../../shell/account.ts'
import { fieldLabel } from '../../words/fields.ts'
import { ConfigField } from './ConfigField.tsx'
import { type ConfigDraft, configInputs, configOf, emptyConfig, secretNames } from './config-inputs.ts'
import { contactPointTypeNames } from './type-words.ts'

interface Draft extends ConfigDraft {
  name: string
  type: ContactPointType
  removed: string[]
}

interface Props {
  /** Null for a new one. Its settings are not part of it: the platform does not show them. */
  point: Omit<ContactPoint, 'config'> | null
  onClose: () => void
}

/** Creates or changes a contact point. Settings that are left empty keep the value that is stored. */
export function ContactPointDialog({ point, onClose }: Props) {
  const { form, write, save } = useContactPointForm(point, onClose)
  const { name, type } = form.values
  return (
    <Dialog
      title={point ? `Edit ${point.name}` : 'New contact point'}
      onClose={onClose}
      onSubmit={() => save(form.since)}
      actions={
        <button
          type="submit"
          className="button primary"
          disabled={write.isPending || (point !== null && form.edited.length === 0)}
        >
          {write.isPending ? 'Saving…' : point ? 'Save contact point' : 'Create contact point'}
        </button>
      }
    >
      {!point && (
        <TypeField
          type={type}
          set={(next) => {
            form.set({ type: next })
            write.reset()
          }}
        />
      )}
      <TextField
        label={fieldLabel('name')}
        name="name"
        error={write.error}
        required
        maxLength={50}
        value={name}
        set={(text) => form.set({ name: text })}
      />
      {point && (
        <p className="muted small">The settings are not shown. What you leave empty stays as it is.</p>
      )}
      <ConfigFields form={form} error={write.error} isStored={point !== null} />
      <FormProblem
        form={form}
        write={write}
        labelOf={(field) => (field === 'removed' ? 'Removed settings' : fieldLabel(field))}
        secrets={Object.keys(emptyConfig) as (keyof ConfigDraft)[]}
        save={save}
        onTaken={onClose}
      />
    </Dialog>
  )
}

function ConfigFields({
  form,
  error,
  isStored,
}: {
  form: Form<Draft>
  error: AppError | null
  isStored: boolean
}) {
  const { type, removed } = form.values
  return configInputs[type].map((input) => (
    <ConfigField
      key={input.name}
      input={input}
      value={form.values[input.name]}
      error={error}
      set={(text) => form.set({ [input.name]: text })}
      stored={
        isStored
          ? {
              removed: removed.includes(input.name),
              remove: (on) =>
                form.set({
                  removed: on ? [...removed, input.name] : removed.filter((one) => one !== input.name),
                }),
            }
          : null
      }
    />
  ))
}

function TypeField({ type, set }: { type: ContactPointType; set: (type: ContactPointType) => void }) {
  return (
    <Field label={fieldLabel('type')} name="type">
      {(props) => (
        <select {...props} value={type} onChange={(event) => set(event.target.value as ContactPointType)}>
          {Object.entries(contactPointTypeNames).map(([id, text]) => (
            <option key={id} value={id}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

function useContactPointForm(point: Props['point'], onClose: () => void) {
  const { accountId } = useAccount()
  const create = useWrite(createContactPoint)
  const update = useWrite(updateContactPoint)
  const form = useForm<Draft>({
    id: `contact point ${point?.contactPointId ?? accountId}`,
    stored: { ...emptyConfig, name: point?.name ?? '', type: point?.type ?? 'webhook', removed: [] },
    revision: point?.revision ?? 0,
    secrets: secretNames,
  })
  const save = (expectedRevision: number) => {
    const { name, type, removed } = form.values
    const config = configOf(configInputs[type], form.values, removed)
    const then = {
      onSuccess({ message }: { message: string }) {
        toast(message)
        onClose()
      },
    }
    if (!point) create.mutate({ accountId, name, type, config }, then)
    else {
      const given = Object.keys(config).length > 0 ? { config } : {}
      update.mutate({ contactPointId: point.contactPointId, name, ...given, expectedRevision }, then)
    }
  }
  return { form, write: point ? update : create, save }
}
