import { useState } from 'react'
import { metricUnits } from '../../../contract/metrics.ts'
import { Loading, Problem } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { counted, quantity } from '../../components/words.ts'
import { inWords, lowerFirst } from '../../words/text.ts'
import { useEnvironment } from '../environments/environment.ts'
import { type Range, rangeNames, useSeries, windowOf } from '../environments/use-series.ts'
import { type Rule, type Subject, thresholdOf, useRulePreview } from './rule.ts'
import { ThresholdChart } from './ThresholdChart.tsx'
import { conditionWords, metricNames } from './words.ts'

interface Props {
  rule: Rule
  subject: Subject
  onThreshold: (threshold: number) => void
}

/** The rule on stored data: a chart with a draggable threshold, and the times at which it would have fired. */
export function RulePanel({ rule, subject, onThreshold }: Props) {
  const { appEnvId } = useEnvironment()
  const [range, setRange] = useState<Range>('hour')
  const { metric, operator, aggregation } = rule
  const series = useSeries(appEnvId, metric, range)
  const preview = useRulePreview(subject, rule)
  const unit = metricUnits[metric]
  const window = windowOf(range)
  const fired = preview.data?.preview.wouldHaveFired ?? []
  const shown = fired.filter(({ at }) => Date.parse(at) >= window.fromMs)
  const points = (series.data?.points ?? []).map(({ t, ...point }) => ({
    t,
    value: aggregation === 'mean' ? point.value : point[aggregation],
  }))
  return (
    <section className="panel" aria-labelledby="preview">
      <header>
        <h2 id="preview">Preview</h2>
        <span className="muted small">{metricNames[metric]}</span>
        <div className="actions">
          <RangeSelect range={range} set={setRange} />
        </div>
      </header>
      <div className="body stack">
        {series.isPending ? (
          <Loading rows={5} />
        ) : (
          <ThresholdChart
            label={metricNames[metric]}
            unit={unit}
            points={points}
            window={window}
            threshold={thresholdOf(rule) ?? 0}
            operator={operator}
            marks={shown.map(({ at }) => at)}
            onThreshold={onThreshold}
          />
        )}
        <p className="muted small">
          Drag the dashed line to change the threshold. The condition is met in the shaded part; dotted lines
          show when the alert would have fired.
        </p>
        <Problem error={preview.error ?? series.error} />
        {preview.data && (
          <div className="stack" role="status" style={{ gap: 8 }}>
            <ul className="effects">
              <li>
                Fires when the {lowerFirst(conditionWords({ ...rule, threshold: thresholdOf(rule) ?? 0 }))}.
              </li>
              {/* The platform's sentences on condition and firing are in terms of the interface. */}
              {preview.data.effects
                .filter((effect) => !/^(Would|Fires on) /.test(effect))
                .map((effect) => (
                  <li key={effect}>{inWords(effect)}</li>
                ))}
            </ul>
            <Fired fired={fired} unit={unit} samples={preview.data.preview.samples} />
          </div>
        )}
      </div>
    </section>
  )
}

export function RangeSelect({ range, set }: { range: Range; set: (range: Range) => void }) {
  return (
    <select aria-label="Period" value={range} onChange={(event) => set(event.target.value as Range)}>
      {Object.entries(rangeNames).map(([id, name]) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

interface FiredProps {
  fired: readonly { at: string; value: number }[]
  unit: string
  samples: number
}

function Fired({ fired, unit, samples }: FiredProps) {
  if (samples === 0) return null
  const newest = fired.slice(-5).reverse()
  return (
    <>
      <strong>
        {fired.length === 0
          ? 'Would not have fired in the last 7 days.'
          : `Would have fired ${counted(fired.length, 'time')} in the last 7 days.`}
      </strong>
      {newest.length > 0 && (
        <ul className="effects small">
          {newest.map(({ at, value }) => (
            <li key={at}>
              <Time at={at} /> at {quantity(value, unit)}
            </li>
          ))}
          {fired.length > newest.length && <li>and {fired.length - newest.length} earlier</li>}
        </ul>
      )}
    </>
  )
}
