import { updatePolicy } from '../../../contract/policy.ts'
import { AppError } from '../../../errors.ts'
import { useWrite } from '../../api/queries.ts'
import { Checkbox } from '../../components/Checkbox.tsx'
import { Dialog } from '../../components/Dialog.tsx'
import { Field } from '../../components/Field.tsx'
import { FormProblem } from '../../components/FormProblem.tsx'
import { type Form, useForm } from '../../components/form.ts'
import { toast } from '../../components/toasts.tsx'
import { useAccount } from '../../shell/account.ts'
import { partNames, policyFieldNames } from '../../words/policy.ts'
import {
  emptyEntry,
  entryOf,
  type FieldSpec,
  fieldsOf,
  type Part,
  type PolicyEntry,
  textsOf,
} from './fields.ts'
import { placedProblem } from './places.ts'

interface Props {
  part: Part
  entries: readonly PolicyEntry[]
  /** Null: a new one. */
  index: number | null
  revision: number
  onClose: () => void
}

/** A rule, freeze or budget as a form. */
export function EntryDialog({ part, entries, index, revision, onClose }: Props) {
  const { accountId } = useAccount()
  const specs = fieldsOf[part]
  const before = (index === null ? undefined : entries[index]) ?? emptyEntry[part]
  const write = useWrite(updatePolicy)
  const form = useForm({ id: `${part} ${before.id}`, stored: textsOf(specs, before), revision })
  const save = (expectedRevision: number) => {
    const entry = entryOf(specs, form.values, before)
    const list = index === null ? [...entries, entry] : entries.map((one, at) => (at === index ? entry : one))
    write.mutate({ accountId, [part]: list, expectedRevision } as never, {
      onSuccess({ message }) {
        toast(message)
        onClose()
      },
    })
  }
  const problem = fieldProblem(part, specs, write.error)
  return (
    <Dialog
      title={index === null ? partNames[part].add : `${partNames[part].one} ${before.id}`}
      onClose={onClose}
      onSubmit={() => save(form.since)}
      actions={
        <button type="submit" className="button primary" disabled={write.isPending}>
          {write.isPending ? 'Saving…' : 'Save'}
        </button>
      }
    >
      <div className="fields">
        {specs.map((spec) => (
          <PolicyField key={spec.path} spec={spec} form={form} error={problem} />
        ))}
      </div>
      <FormProblem
        form={form}
        write={problem ? { ...write, error: null } : write}
        labelOf={(name) => policyFieldNames[name] ?? name}
        save={save}
        onTaken={onClose}
      />
    </Dialog>
  )
}

interface FieldProps {
  spec: FieldSpec
  form: Form<Record<string, string>>
  error: AppError | null
}

function PolicyField({ spec, form, error }: FieldProps) {
  const { path, kind, choices = [], hint } = spec
  const label = policyFieldNames[path] ?? path
  const value = form.values[path] ?? ''
  const set = (text: string) => form.set({ [path]: text })
  if (kind === 'flag')
    return (
      <Checkbox checked={value === 'true'} set={(checked) => set(checked ? 'true' : '')}>
        {label}
      </Checkbox>
    )
  if (kind === 'checks') return <Checks label={label} choices={choices} value={value} set={set} />
  return (
    <Field label={label} name={nameOf(path)} error={error} {...(hint === undefined ? {} : { hint })}>
      {(props) => {
        const input = { ...props, value }
        if (kind === 'choice')
          return (
            <select {...input} onChange={(event) => set(event.target.value)}>
              {choices.map(([one, words]) => (
                <option key={one} value={one}>
                  {words}
                </option>
              ))}
            </select>
          )
        if (kind === 'conditions')
          return <textarea {...input} onChange={(event) => set(event.target.value)} />
        const type = kind === 'number' ? 'number' : 'text'
        return <input {...input} type={type} onChange={(event) => set(event.target.value)} />
      }}
    </Field>
  )
}

interface ChecksProps {
  label: string
  choices: NonNullable<FieldSpec['choices']>
  value: string
  set: (text: string) => void
}

/** Any number of a few choices. */
function Checks({ label, choices, value, set }: ChecksProps) {
  const chosen = value === '' ? [] : value.split(', ')
  const without = (one: string) => chosen.filter((other) => other !== one)
  return (
    <fieldset>
      <legend>{label}</legend>
      <div className="choices">
        {choices.map(([one, words]) => (
          <Checkbox
            key={one}
            checked={chosen.includes(one)}
            set={(checked) => set((checked ? [...chosen, one] : without(one)).join(', '))}
          >
            {words}
          </Checkbox>
        ))}
      </div>
    </fieldset>
  )
}

/** Unique among the inputs of an entry, as one word: that is how errors name them. */
const nameOf = (path: string) => path.replaceAll('.', '_')

/** The platform's error about one input, in its words; null for one about something else. */
function fieldProblem(part: Part, specs: readonly FieldSpec[], error: AppError | null): AppError | null {
  const found = placedProblem(error)
  if (!found || !error) return null
  const place = found.place.replace(new RegExp(`^${part}\\[\\d+\\]\\.?`), '')
  const spec = specs.find(
    ({ path }) => place === path || place.startsWith(`${path}.`) || place.startsWith(`${path}[`),
  )
  if (!spec || spec.kind === 'flag' || spec.kind === 'checks') return null
  return new AppError('invalid', error.message, { details: `${nameOf(spec.path)}: ${found.problem}` })
}
