import { useState } from 'react'
import type { AppEnv } from '../../../contract/app-envs.ts'
import { updateJobConfig } from '../../../contract/jobs.ts'
import type { AppError } from '../../../errors.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Field } from '../../components/Field.tsx'
import { FormProblem } from '../../components/FormProblem.tsx'
import { useForm } from '../../components/form.ts'
import { ResetButton } from '../../components/ResetButton.tsx'
import { NotFound } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { toast } from '../../components/toasts.tsx'
import { useEnvironment } from '../environments/environment.ts'
import {
  changeOf,
  draftOf,
  type JobDraft,
  type JobField,
  jobFields,
  jobLabel,
  layerNames,
  valueWords,
} from './settings.ts'

/** Settings of runs: effective values with their source, and the environment's own values. */
export function JobSettingsPage() {
  const environment = useEnvironment()
  if (!environment.isJob || !environment.effectiveJobConfig) return <NotFound />
  return (
    <div className="stack">
      <InForce config={environment.effectiveJobConfig} />
      <JobForm environment={environment} />
    </div>
  )
}

function InForce({ config }: { config: NonNullable<AppEnv['effectiveJobConfig']> }) {
  const columns: Column<JobField>[] = [
    { title: 'Setting', cell: ({ name }) => jobLabel(name) },
    { title: 'Next run takes', kind: 'mono', cell: ({ name, kind }) => valueWords(kind, config[name].value) },
    { title: 'From', kind: 'muted', cell: ({ name }) => layerNames[config[name].from] },
    {
      title: 'After apply',
      cell({ name, kind }) {
        const { pending } = config[name]
        return pending ? `${valueWords(kind, pending.value)}, ${layerNames[pending.from].toLowerCase()}` : '–'
      },
    },
  ]
  return (
    <section className="panel" aria-labelledby="in-force">
      <header>
        <h2 id="in-force">In force</h2>
        <span className="muted small">The environment wins over the app, the app over the platform</span>
      </header>
      <Table label="Job settings in force" columns={columns} rows={jobFields} keyOf={({ name }) => name} />
    </section>
  )
}

function JobForm({ environment }: { environment: AppEnv }) {
  const { appEnvId, revision } = environment
  const form = useForm<JobDraft>({ id: `job ${appEnvId}`, stored: draftOf(environment), revision })
  const write = useWrite(updateJobConfig)
  const [applyImmediately, setApplyImmediately] = useState(false)
  const save = (expectedRevision: number) =>
    write.mutate(
      { appEnvId, ...changeOf(form.values, form.edited), applyImmediately, expectedRevision },
      {
        onSuccess: ({ appliedImmediately }) =>
          toast(appliedImmediately ? 'Job settings applied.' : 'Job settings saved as pending.'),
      },
    )
  return (
    <form
      className="panel"
      aria-label="Settings of this environment"
      onSubmit={(event) => {
        event.preventDefault()
        save(form.since)
      }}
    >
      <header>
        <h2>This environment</h2>
        <span className="muted small">What is empty is inherited from the app or the platform</span>
      </header>
      <div className="body stack">
        <div className="fields">
          {jobFields.map((field) => (
            <JobInput
              key={field.name}
              field={field}
              value={form.values[field.name]}
              inherited={environment.appJobConfig?.[field.name]}
              error={write.error}
              set={(text) => form.set({ [field.name]: text })}
            />
          ))}
        </div>
        <Checkbox checked={applyImmediately} set={setApplyImmediately}>
          Apply at once
        </Checkbox>
        <FormProblem form={form} write={write} labelOf={jobLabel} save={save} />
        <div className="row">
          <button
            type="submit"
            className="button primary"
            disabled={write.isPending || form.edited.length === 0 || write.error?.kind === 'conflict'}
          >
            {applyImmediately ? 'Save and apply' : 'Save as pending'}
          </button>
          <ResetButton form={form} write={write} />
        </div>
      </div>
    </form>
  )
}

interface InputProps {
  field: JobField
  value: string
  inherited: unknown
  error: AppError | null
  set: (text: string) => void
}

function JobInput({ field: { name, kind, hint, min }, value, inherited, error, set }: InputProps) {
  const placeholder = valueWords(kind, inherited)
  return (
    <Field label={jobLabel(name)} name={name} error={error} hint={`${hint}. Inherited: ${placeholder}`}>
      {(props) => {
        const common = {
          ...props,
          value,
          onChange: (event: { target: { value: string } }) => set(event.target.value),
        }
        if (kind === 'lines') return <textarea {...common} className="mono" rows={2} />
        if (kind === 'switch') {
          return (
            <select {...common}>
              <option value="">Inherit</option>
              <option value="true">On</option>
              <option value="false">Off</option>
            </select>
          )
        }
        const isNumber = kind !== 'text'
        return (
          <input
            {...common}
            type={isNumber ? 'number' : 'text'}
            className={isNumber ? undefined : 'mono'}
            min={min}
          />
        )
      }}
    </Field>
  )
}
