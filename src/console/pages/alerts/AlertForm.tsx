import { alertAggregations, alertDurations, alertQueryRanges } from '../../../contract/alerts.ts'
import { defaultThresholds, type Metric, metricUnits } from '../../../contract/metrics.ts'
import type { AppError } from '../../../errors.ts'
import { Field } from '../../components/Field.tsx'
import { FormProblem } from '../../components/FormProblem.tsx'
import type { Form, FormWrite } from '../../components/form.ts'
import { fieldLabel } from '../../words/fields.ts'
import { useEnvironment } from '../environments/environment.ts'
import { ContactPointChoices } from './ContactPointChoices.tsx'
import { RulePanel } from './RulePanel.tsx'
import { type Rule, type Subject, thresholdOf } from './rule.ts'
import { aggregationNames, metricNames, metricsOf, spanWords } from './words.ts'

interface Props {
  title: string
  form: Form<Rule>
  subject: Subject
  /** Label of the button. */
  action: string
  write: FormWrite
  onSave: (rule: SavedRule, expectedRevision: number) => void
  /** Further buttons. */
  children?: React.ReactNode
}
type SavedRule = Omit<Rule, 'threshold'> & { threshold: number }

/** A rule beside its preview; the threshold is typed, or moved on the chart. */
export function AlertForm({ title, form, subject, action, write, onSave, children }: Props) {
  const { values: rule, set } = form
  const threshold = thresholdOf(rule)
  const isConflict = write.error?.kind === 'conflict' && form.edited.length > 0
  const save = (expectedRevision: number) => {
    if (threshold !== null) onSave({ ...rule, threshold }, expectedRevision)
  }
  return (
    <form
      className="wide-fields"
      aria-label={title}
      onSubmit={(event) => {
        event.preventDefault()
        save(form.since)
      }}
    >
      <RulePanel rule={rule} subject={subject} onThreshold={(moved) => set({ threshold: String(moved) })} />
      <section className="panel" aria-labelledby="rule">
        <header>
          <h2 id="rule">{title}</h2>
        </header>
        <div className="body stack">
          <Naming rule={rule} set={set} error={write.error} />
          <Condition rule={rule} set={set} error={write.error} />
          <ContactPointChoices
            chosen={rule.contactPointIds}
            set={(contactPointIds) => set({ contactPointIds })}
          />
          <FormProblem form={form} write={write} labelOf={fieldLabel} save={save} />
          <div className="row">
            <button
              type="submit"
              className="button primary"
              disabled={write.isPending || isConflict || threshold === null}
            >
              {write.isPending ? 'Saving…' : action}
            </button>
            {children}
          </div>
        </div>
      </section>
    </form>
  )
}

interface PartProps {
  rule: Rule
  set: (change: Partial<Rule>) => void
  error: AppError | null
}

function Naming({ rule, set, error }: PartProps) {
  return (
    <>
      <Field label={fieldLabel('name')} name="name" error={error}>
        {(input) => (
          <input
            {...input}
            required
            maxLength={100}
            value={rule.name}
            onChange={(event) => set({ name: event.target.value })}
          />
        )}
      </Field>
      <Field
        label={fieldLabel('description')}
        name="description"
        error={error}
        hint="Optional. Included in notifications."
      >
        {(input) => (
          <textarea
            {...input}
            maxLength={500}
            value={rule.description}
            onChange={(event) => set({ description: event.target.value })}
          />
        )}
      </Field>
    </>
  )
}

function Condition({ rule, set, error }: PartProps) {
  const known = metricsOf(useEnvironment())
  return (
    <>
      <Choice
        name="metric"
        error={error}
        value={rule.metric}
        options={known.map((metric) => [metric, `${metricNames[metric]} (${metricUnits[metric]})`])}
        set={(text) => {
          const metric = text as Metric
          // The old threshold has another unit.
          set({ metric, threshold: String(defaultThresholds[metric]) })
        }}
      />
      <div className="fields pairs">
        <Choice
          name="operator"
          error={error}
          value={rule.operator}
          options={[
            ['gt', 'above'],
            ['lt', 'below'],
          ]}
          set={(operator) => set({ operator: operator as Rule['operator'] })}
        />
        <Field
          label={`${fieldLabel('threshold')} (${metricUnits[rule.metric]})`}
          name="threshold"
          error={error}
        >
          {(input) => (
            <input
              {...input}
              type="number"
              step="any"
              required
              value={rule.threshold}
              onChange={(event) => set({ threshold: event.target.value })}
            />
          )}
        </Field>
        <Spans rule={rule} set={set} error={error} />
      </div>
    </>
  )
}

/** Aggregation, query range and duration of the condition. */
function Spans({ rule, set, error }: PartProps) {
  return (
    <>
      <Choice
        name="aggregation"
        error={error}
        value={rule.aggregation}
        options={alertAggregations.map((one) => [one, aggregationNames[one]])}
        set={(aggregation) => set({ aggregation: aggregation as Rule['aggregation'] })}
      />
      <Choice
        name="queryRange"
        error={error}
        value={rule.queryRange}
        options={alertQueryRanges.map((one) => [one, spanWords(one)])}
        set={(queryRange) => set({ queryRange: queryRange as Rule['queryRange'] })}
      />
      <Choice
        name="duration"
        error={error}
        value={rule.duration}
        options={alertDurations.map((one) => [one, spanWords(one)])}
        set={(duration) => set({ duration: duration as Rule['duration'] })}
      />
    </>
  )
}

interface ChoiceProps {
  name: string
  error: AppError | null
  value: string
  options: readonly (readonly [string, string])[]
  set: (value: string) => void
}

function Choice({ name, error, value, options, set }: ChoiceProps) {
  return (
    <Field label={fieldLabel(name)} name={name} error={error}>
      {(input) => (
        <select {...input} value={value} onChange={(event) => set(event.target.value)}>
          {options.map(([id, text]) => (
            <option key={id} value={id}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}
