import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { startJobRun } from '../../../contract/jobs.ts'
import type { AppError } from '../../../errors.ts'
import { preview } from '../../api/client.ts'
import { useWrite } from '../../api/queries.ts'
import { Dialog } from '../../components/Dialog.tsx'
import { Field } from '../../components/Field.tsx'
import { useForm } from '../../components/form.ts'
import { Loading, Problem } from '../../components/states.tsx'
import { toast } from '../../components/toasts.tsx'
import { inWords } from '../../words/text.ts'
import { useEnvironment } from '../environments/environment.ts'
import { jobLabel } from './settings.ts'

const inherited = { command: '', args: '', workingDir: '', timeoutSeconds: '', backoffLimit: '' }

/** Confirms a run with a preview of its effects; the inputs apply to this run only. */
export function StartRunDialog({ onClose }: { onClose: () => void }) {
  const { appEnvId, cliEnvName: envName, effectiveJobConfig: config } = useEnvironment()
  const navigate = useNavigate()
  const write = useWrite(startJobRun)
  const form = useForm({ id: `run ${appEnvId}`, stored: inherited })
  const input = { appEnvId, ...ownOf(form.values) }
  const dryRun = useQuery<Awaited<ReturnType<typeof preview>>, AppError>({
    queryKey: ['preview', startJobRun.id, appEnvId],
    queryFn: () => preview(startJobRun, { appEnvId }),
    gcTime: 0,
  })
  const submit = () =>
    write.mutate(input, {
      onSuccess({ jobRun: { jobRunId } }) {
        toast('The run is started.')
        onClose()
        void navigate({
          to: '/environments/$envName/runs/$jobRunId',
          params: { envName, jobRunId },
          search: ({ account }) => ({ account }),
        })
      },
    })
  return (
    <Dialog
      title={`Start a run of ${envName}?`}
      onClose={onClose}
      onSubmit={submit}
      actions={
        <button type="submit" className="button primary" disabled={write.isPending || dryRun.isPending}>
          {write.isPending ? 'Starting…' : 'Start run'}
        </button>
      }
    >
      {dryRun.isPending && <Loading rows={1} />}
      <ul className="effects">
        {dryRun.data?.effects.map((effect) => (
          <li key={effect}>{inWords(effect)}</li>
        ))}
      </ul>
      <p className="muted small">For this run only. What you leave empty is taken from the job settings.</p>
      <RunFields
        values={form.values}
        set={form.set}
        error={write.error}
        now={{
          command: config?.command.value ?? 'none',
          args: config?.args.value?.join(' ') ?? 'none',
          workingDir: config?.workingDir.value ?? 'of the image',
          timeoutSeconds: `${config?.timeoutSeconds.value} seconds`,
          backoffLimit: `${config?.backoffLimit.value}`,
        }}
      />
      <Problem error={write.error ?? dryRun.error} />
    </Dialog>
  )
}

type Typed = typeof inherited

interface FieldsProps {
  values: Typed
  set: (change: Partial<Typed>) => void
  error: AppError | null
  now: Typed
}

const fields = [
  { name: 'command', kind: 'text' },
  { name: 'args', kind: 'lines', hint: 'One on a line' },
  { name: 'workingDir', kind: 'text' },
  { name: 'timeoutSeconds', kind: 'number', min: 1, hint: 'In seconds' },
  { name: 'backoffLimit', kind: 'number', min: 0 },
] as const

function RunFields({ values, set, error, now }: FieldsProps) {
  return fields.map((field) => (
    <Field
      key={field.name}
      label={jobLabel(field.name)}
      name={field.name}
      error={error}
      hint={`${'hint' in field ? `${field.hint}. ` : ''}Job settings: ${now[field.name]}`}
    >
      {(props) =>
        field.kind === 'lines' ? (
          <textarea
            {...props}
            className="mono"
            rows={2}
            value={values[field.name]}
            onChange={(event) => set({ [field.name]: event.target.value })}
          />
        ) : (
          <input
            {...props}
            className={field.kind === 'text' ? 'mono' : undefined}
            type={field.kind}
            min={'min' in field ? field.min : undefined}
            value={values[field.name]}
            onChange={(event) => set({ [field.name]: event.target.value })}
          />
        )
      }
    </Field>
  ))
}

/** The filled inputs. */
function ownOf({ command, args, workingDir, timeoutSeconds, backoffLimit }: Typed) {
  return {
    ...(command.trim() ? { command } : {}),
    ...(args.trim() ? { args: args.split('\n').filter((one) => one !== '') } : {}),
    ...(workingDir.trim() ? { workingDir } : {}),
    ...(timeoutSeconds ? { timeoutSeconds: Number(timeoutSeconds) } : {}),
    ...(backoffLimit ? { backoffLimit: Number(backoffLimit) } : {}),
  }
}
