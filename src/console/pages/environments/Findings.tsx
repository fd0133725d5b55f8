import { useState } from 'react'
import { updateAlert } from '../../../contract/alerts.ts'
import {
  applyAppEnvChanges,
  scaleAppEnvContainers,
  startAppEnv,
  updateAppEnvAutoscaling,
  updateAppEnvVariables,
  updateFunctionConfig,
} from '../../../contract/app-env-actions.ts'
import { redeployAppEnv } from '../../../contract/deployments.ts'
import { diagnoseAppEnv, type Evidence, type Finding, type Fix } from '../../../contract/diagnosis.ts'
import { metrics, metricUnits } from '../../../contract/metrics.ts'
import type { Operation } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge, type Tone } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Time } from '../../components/Time.tsx'
import { quantity, whole } from '../../components/words.ts'
import { operationWords } from '../../words/operations.ts'
import { inWords, sentenceCase } from '../../words/text.ts'
import { metricNames } from '../alerts/words.ts'
import { useEnvironment } from './environment.ts'

/** Writes that a button can run as a finding names them. Other fixes are shown in words. */
const runnable: readonly Operation[] = [
  applyAppEnvChanges,
  redeployAppEnv,
  scaleAppEnvContainers,
  startAppEnv,
  updateAlert,
  updateAppEnvAutoscaling,
  updateAppEnvVariables,
  updateFunctionConfig,
]

const severities: Record<Finding['severity'], { tone: Tone; name: string }> = {
  critical: { tone: 'bad', name: 'Critical' },
  warning: { tone: 'warn', name: 'Warning' },
  info: { tone: 'idle', name: 'Note' },
}

const confidences: Record<Finding['confidence'], string> = {
  certain: 'The platform recorded this cause.',
  likely: 'Likely: the output of the program names this cause.',
  possible: 'Possible: the measured values fit this cause.',
}

/** The page shows these two in its head, with the same buttons. */
const shownAbove: readonly Finding['cause'][] = ['stopped', 'pending-change']

/** Each problem with its cause and fix. Renders nothing if there is none. */
export function Findings() {
  const { appEnvId } = useEnvironment()
  const read = useRead(diagnoseAppEnv, { appEnvId }, { everyMs: everyMs.chart })
  const findings = read.data?.findings.filter(({ cause }) => !shownAbove.includes(cause)) ?? []
  if (findings.length === 0) return null
  return (
    <section className="panel" aria-labelledby="findings">
      <header>
        <h2 id="findings">Findings</h2>
        <span className="muted small">The root cause first</span>
      </header>
      <ol>
        {findings.map((finding, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: several findings may have the same cause
          <FindingItem key={`${finding.cause} ${index}`} finding={finding} />
        ))}
      </ol>
    </section>
  )
}

function FindingItem({ finding }: { finding: Finding }) {
  const { cause, severity, confidence, summary, since, evidence, fix } = finding
  const { tone, name } = severities[severity]
  return (
    <li className="entry">
      <div className="row">
        <Badge tone={tone}>{name}</Badge>
        <strong>{inWords(summary)}</strong>
      </div>
      <span className="muted small">
        {sentenceCase(cause)}
        {since && (
          <>
            {' '}
            since <Time at={since} />
          </>
        )}
        . {confidences[confidence]}
      </span>
      {evidence.length > 0 && (
        <ul className="small" aria-label="Evidence">
          {evidence.map((one, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same line may be printed twice
            <li key={`${one.source} ${index}`}>
              <EvidenceLine evidence={one} />
            </li>
          ))}
        </ul>
      )}
      {fix && <FixLine fix={fix} summary={summary} />}
    </li>
  )
}

function EvidenceLine({ evidence: { source, at, text, value } }: { evidence: Evidence }) {
  // A line of a log stays as the program wrote it.
  const ownWords = source === 'log' ? text : inWords(text ?? '')
  return (
    <>
      <span className="muted">
        {sourceNames[source]}
        {at && (
          <>
            , <Time at={at} />
          </>
        )}
        :
      </span>{' '}
      <span className="mono">{valueWords(text, value) ?? ownWords}</span>
    </>
  )
}

/** A value of a metric with its unit; null where the evidence is only text. */
function valueWords(text: string | undefined, value: number | undefined): string | null {
  if (value === undefined) return null
  const metric = metrics.find((one) => one === text)
  if (metric) return `${metricNames[metric]} ${quantity(value, metricUnits[metric])}`
  return text === undefined ? whole(value) : `${inWords(text)} (${whole(value)})`
}

const sourceNames: Record<Evidence['source'], string> = {
  deployment: 'Deployment',
  container: 'Container',
  'build-log': 'Build log',
  log: 'Log',
  metric: 'Measured',
  request: 'Request',
  setting: 'Setting',
  alert: 'Alert',
  engine: 'Engine',
}

/** A safe fix heals the finding, loses no data and can be taken back; every other one needs a person's judgment. */
function FixLine({ fix: { operation, input, effects, safe }, summary }: { fix: Fix; summary: string }) {
  const [confirming, setConfirming] = useState(false)
  const row = runnable.find(({ id }) => id === operation)
  const action = operationWords(operation)
  return (
    <div className="row">
      <span>
        <span className="muted">Fix:</span> {inWords(effects.join(' '))}
      </span>
      {row && safe ? (
        <button type="button" className="button compact" onClick={() => setConfirming(true)}>
          {action}
        </button>
      ) : (
        <span className="muted small">
          Decide first whether this fits: {action.charAt(0).toLowerCase() + action.slice(1)}.
        </span>
      )}
      {row && confirming && (
        <ConfirmWrite
          row={row}
          input={input}
          title={`${action}?`}
          action={action}
          done={(answer) => String((answer as { message?: string }).message ?? 'Done')}
          onClose={() => setConfirming(false)}
        >
          <p className="muted small">Heals: {inWords(summary)}</p>
        </ConfirmWrite>
      )}
    </div>
  )
}
