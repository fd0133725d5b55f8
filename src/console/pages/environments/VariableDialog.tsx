import { updateAppEnvVariables } from '../../../contract/app-env-actions.ts'
import type { AppEnv } from '../../../contract/app-envs.ts'
import type { AppError } from '../../../errors.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { Field } from '../../components/Field.tsx'
import { FormProblem } from '../../components/FormProblem.tsx'
import { useForm } from '../../components/form.ts'
import { TextField } from '../../components/TextField.tsx'
import { toast } from '../../components/toasts.tsx'
import { variableLabels } from '../../words/fields.ts'
import { variableUses } from '../../words/values.ts'
import { useEnvironment } from './environment.ts'

type Variable = AppEnv['envVars'][number]
type Draft = Pick<Variable, 'name' | 'value' | 'type' | 'isSecret'>

/** Adds or changes one variable. Without a new value, a secret keeps the one it has. */
export function VariableDialog({ name, onClose }: { name: string | null; onClose: () => void }) {
  const { appEnvId, envVars, revision } = useEnvironment()
  const write = useWrite(updateAppEnvVariables)
  const variable = envVars.find((one) => one.name === name) ?? null
  const form = useForm<Draft>({
    id: `variable ${appEnvId} ${name}`,
    stored: {
      name: name ?? '',
      value: variable && !variable.isSecret ? variable.value : '',
      type: variable?.type ?? 'DEPLOY',
      isSecret: variable?.isSecret ?? true,
    },
    revision,
    secrets: ['value'],
  })
  const submit = (expectedRevision: number) => {
    const { value, ...rest } = form.values
    // An empty field of a secret means "keep": its value was never shown. An untouched reference stays one.
    const isKept = variable?.isSecret ? value === '' : variable?.from && value === variable.value
    const given = isKept ? {} : { value }
    write.mutate(
      { appEnvId, set: [{ ...rest, ...given }], expectedRevision },
      {
        onSuccess({ message }) {
          toast(message)
          onClose()
        },
      },
    )
  }
  return (
    <Dialog
      title={name === null ? 'Add variable' : `Change ${name}`}
      onClose={onClose}
      onSubmit={() => submit(form.since)}
      actions={
        <button type="submit" className="button primary" disabled={write.isPending}>
          {write.isPending ? 'Saving…' : 'Save as pending'}
        </button>
      }
    >
      <VariableFields draft={form.values} set={form.set} known={variable} error={write.error} />
      <FormProblem
        form={form}
        write={write}
        labelOf={(field) => variableLabels[field]}
        secrets={variable?.isSecret || form.values.isSecret ? ['value'] : []}
        save={submit}
        onTaken={onClose}
      />
    </Dialog>
  )
}

interface FieldsProps {
  draft: Draft
  set: (change: Partial<Draft>) => void
  known: Variable | null
  error: AppError | null
}

function VariableFields({ draft, set, known, error }: FieldsProps) {
  const { name, value, type, isSecret } = draft
  return (
    <>
      {!known && (
        <TextField
          label={variableLabels.name}
          name="name"
          error={error}
          className="mono"
          value={name}
          required
          set={(text) => set({ name: text })}
        />
      )}
      <Field
        label={variableLabels.value}
        name="value"
        error={error}
        {...(known?.isSecret ? { hint: 'Leave empty to keep the value.' } : {})}
      >
        {(props) => (
          <textarea
            {...props}
            className="mono"
            rows={3}
            value={value}
            onChange={(event) => set({ value: event.target.value })}
          />
        )}
      </Field>
      <Field label={variableLabels.type} name="type" error={error}>
        {(props) => (
          <select
            {...props}
            value={type}
            onChange={(event) => set({ type: event.target.value as Draft['type'] })}
          >
            {Object.entries(variableUses).map(([id, label]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Checkbox checked={isSecret} set={(checked) => set({ isSecret: checked })}>
        Secret: encrypted, and never shown again
      </Checkbox>
    </>
  )
}
