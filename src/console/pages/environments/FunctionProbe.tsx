import { useState } from 'react'
import { updateFunctionConfig } from '../../../contract/app-env-actions.ts'
import { probeFunction } from '../../../contract/function-probe.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { useKept } from '../../api/drafts.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Fact } from '../../components/Fact.tsx'
import { Field } from '../../components/Field.tsx'
import { counted, quantity } from '../../components/words.ts'
import { inWords } from '../../words/text.ts'
import { useEnvironment } from './environment.ts'
import { ProbeCharts } from './ProbeCharts.tsx'
import { ProbeChecks, ProbeTable } from './ProbeResults.tsx'

export type ProbeResult = OutputOf<typeof probeFunction>

/** Measures the function under load, charts the results, and offers the proposed settings. */
export function FunctionProbe() {
  const { appEnvId, cliEnvName, status } = useEnvironment()
  const [path, setPath] = useKept(`probe path ${appEnvId}`, '/')
  const [requests, setRequests] = useKept(`probe requests ${appEnvId}`, '300')
  const [confirming, setConfirming] = useState(false)
  const [result, setResult] = useState<ProbeResult | null>(null)
  return (
    <section className="panel" aria-labelledby="probe">
      <header>
        <h2 id="probe">Probe</h2>
        <span className="muted small">Sends requests for at most 20 seconds</span>
      </header>
      <form
        className="body stack"
        onSubmit={(event) => {
          event.preventDefault()
          setConfirming(true)
        }}
      >
        <div className="fields">
          <Field label="Path" name="path" hint="Fetched with GET">
            {(input) => <input {...input} value={path} onChange={(event) => setPath(event.target.value)} />}
          </Field>
          <Field label="Requests" name="requests" hint="In all, 1 to 2,000">
            {(input) => (
              <input
                {...input}
                type="number"
                min={1}
                max={2000}
                required
                value={requests}
                onChange={(event) => setRequests(event.target.value)}
              />
            )}
          </Field>
        </div>
        <div className="row">
          <button type="submit" className="button" disabled={status === 'STOPPED'}>
            Measure
          </button>
          {status === 'STOPPED' && <span className="muted small">Start or deploy the function first.</span>}
        </div>
      </form>
      {confirming && (
        <ConfirmWrite
          row={probeFunction}
          input={{ appEnvId, path, requests: Number(requests) }}
          title={`Measure ${cliEnvName}?`}
          action="Measure"
          done={(answer) => {
            setResult(answer)
            return 'The probe is done.'
          }}
          onClose={() => setConfirming(false)}
        />
      )}
      {result && <Result result={result} />}
    </section>
  )
}

function Result({ result }: { result: ProbeResult }) {
  const { coldStartSeconds, containersBefore, mostContainers, tookSeconds, cutShort, levels } = result
  const sent = levels.reduce((sum, { requests }) => sum + requests, 0)
  return (
    <section className="body stack" aria-label="Result of the probe">
      <dl className="facts">
        <Fact
          label="Cold start"
          value={coldStartSeconds === null ? 'None seen' : quantity(coldStartSeconds, 's')}
        />
        <Fact
          label="Containers"
          value={`${containersBefore} before, at most ${counted(mostContainers, 'container')}`}
        />
        <Fact
          label="Sent"
          value={`${counted(sent, 'request')} in ${quantity(tookSeconds, 's')}${cutShort ? ', cut short' : ''}`}
        />
      </dl>
      <ProbeCharts levels={levels} />
      <ProbeTable levels={levels} />
      <ProbeChecks checks={result.checks} />
      <Proposal proposal={result.proposal} />
    </section>
  )
}

function Proposal({ proposal }: { proposal: ProbeResult['proposal'] }) {
  const { appEnvId, functionConfig, revision } = useEnvironment()
  const [confirming, setConfirming] = useState(false)
  const { containerConcurrency, minScale, because } = proposal
  const isNew =
    containerConcurrency !== functionConfig?.containerConcurrency || minScale !== functionConfig.minScale
  return (
    <div className="stack">
      <h3>Suggested settings</h3>
      <ul className="effects">
        {because.map((reason) => (
          <li key={reason}>{inWords(reason)}</li>
        ))}
      </ul>
      {isNew && (
        <div className="row">
          <button type="button" className="button" onClick={() => setConfirming(true)}>
            Use these settings
          </button>
        </div>
      )}
      {confirming && (
        <ConfirmWrite
          row={updateFunctionConfig}
          input={{
            appEnvId,
            containerConcurrency,
            minScale,
            applyImmediately: true,
            expectedRevision: revision,
          }}
          title="Use the proposed settings?"
          action="Save and apply"
          done={() => 'Function settings applied.'}
          onClose={() => setConfirming(false)}
        />
      )}
    </div>
  )
}
