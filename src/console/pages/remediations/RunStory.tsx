import { Link } from '@tanstack/react-router'
import { usualOperator } from '../../../contract/metrics.ts'
import type { RemediationRun } from '../../../contract/remediations.ts'
import { Badge } from '../../components/Badge.tsx'
import { Time } from '../../components/Time.tsx'
import { ThresholdChart } from '../alerts/ThresholdChart.tsx'
import { metricNames } from '../alerts/words.ts'
import { actionName, outcomeName, statusName, statusTones } from './words.ts'

/** One run as a story: what was seen, what it did or would have done, and what happened after. */
export function RunStory({ run }: { run: RemediationRun }) {
  const { runId, status, startedAt, trigger, reason, picture, approvalId } = run
  return (
    <article className="panel" aria-labelledby={runId}>
      <header>
        <h3 id={runId}>
          {trigger.name}, <Time at={startedAt} />
        </h3>
        <Badge tone={statusTones[status]}>{statusName(status)}</Badge>
      </header>
      <div className="body stack">
        <section aria-label="What was seen">
          <h4>What was seen</h4>
          <p>
            {trigger.name} since <Time at={trigger.startedAt} />
            {trigger.endedAt ? (
              <>
                , until <Time at={trigger.endedAt} />
              </>
            ) : (
              ', not over yet'
            )}
            .
          </p>
          {picture && <Picture picture={picture} points={picture.before} when="before" />}
        </section>
        <section aria-label={run.dryRun ? 'What it would have done' : 'What it did'}>
          <h4>{run.dryRun ? 'What it would have done' : 'What it did'}</h4>
          <Steps run={run} />
          {approvalId && (
            <p>
              <Link
                to="/approvals/$approvalId"
                params={{ approvalId }}
                search={({ account }) => ({ account })}
              >
                Approval of its steps
              </Link>
            </p>
          )}
        </section>
        <section aria-label="What happened after">
          <h4>What happened after</h4>
          <p>{reason}</p>
          {picture && picture.after.length > 0 && (
            <Picture picture={picture} points={picture.after} when="after" />
          )}
        </section>
      </div>
    </article>
  )
}

function Steps({ run: { steps, dryRun } }: { run: RemediationRun }) {
  if (dryRun)
    return (
      <ol>
        {dryRun.map(({ action, effects = [], error }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no id, and their order is fixed
          <li key={index}>
            {actionName(action)}: {error ?? effects.join(' ')}
          </li>
        ))}
      </ol>
    )
  if (steps.length === 0) return <p className="muted">Nothing.</p>
  return (
    <ol>
      {steps.map(({ action, outcome, text, at }) => (
        <li key={`${action} ${at} ${text}`}>
          {actionName(action)}, {outcomeName(outcome)}: {text}
        </li>
      ))}
    </ol>
  )
}

type Shown = NonNullable<RemediationRun['picture']>

function Picture({ picture, points, when }: { picture: Shown; points: Shown['before']; when: string }) {
  const { metric, unit, threshold } = picture
  const series = points.map(([t = 0, value = 0]) => ({ t: new Date(t).toISOString(), value }))
  const [first, last] = [points[0]?.[0], points.at(-1)?.[0]]
  if (first === undefined || last === undefined || threshold === null)
    return <p className="muted">No data was measured.</p>
  return (
    <ThresholdChart
      label={`${metricNames[metric]} ${when} the steps`}
      unit={unit}
      points={series}
      window={{ fromMs: first, toMs: Math.max(last, first + 1_000) }}
      threshold={threshold}
      operator={usualOperator(metric)}
    />
  )
}
