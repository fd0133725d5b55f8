import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { OutputOf } from '../../../contract/operation.ts'
import { deleteRemediation, getRemediation, toggleRemediation } from '../../../contract/remediations.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Fact } from '../../components/Fact.tsx'
import { Empty, Failed, Loading, NotFound } from '../../components/states.tsx'
import { useIsAdmin } from '../alerts/use-alerts.ts'
import { useEnvironment } from '../environments/environment.ts'
import { RunStory } from './RunStory.tsx'
import { modeTones, modeWords, stepsWords } from './words.ts'

type Details = OutputOf<typeof getRemediation>

/** One remediation, and each of its last runs as a story. Notifications link here. */
export function RemediationPage() {
  const { remediationId } = useParams({ from: '/frame/environments/$envName/remediations/$remediationId' })
  const { appEnvId } = useEnvironment()
  const read = useRead(getRemediation, { remediationId }, { everyMs: everyMs.status })
  const isLost = read.error && ['not-found', 'forbidden'].includes(read.error.kind)
  if (read.error && (!read.data || isLost)) return <Failed error={read.error} hidesForbidden />
  if (!read.data) return <Loading rows={6} />
  if (read.data.appEnvId !== appEnvId) return <NotFound />
  const { runs } = read.data
  return (
    <div className="stack">
      <Head remediation={read.data} />
      {runs.length === 0 && <Empty title="No runs yet">A run begins when its trigger is on.</Empty>}
      {runs.map((run) => (
        <RunStory key={run.runId} run={run} />
      ))}
    </div>
  )
}

function Head({ remediation }: { remediation: Details }) {
  const { name, mode, trigger, problem, atMost, coolDownSeconds, runs } = remediation
  const count = (status: string) => runs.filter((run) => run.status === status).length
  return (
    <section className="panel" aria-labelledby="remediation">
      <header>
        <h2 id="remediation">{name}</h2>
        <Badge tone={modeTones[mode]}>{modeWords[mode]}</Badge>
        <Actions remediation={remediation} />
      </header>
      <div className="body stack">
        {problem && <p role="status">{problem}</p>}
        <dl className="facts">
          <Fact
            label="Starts when"
            value={trigger.alertId ? 'its alert fires' : `the cause is ${trigger.cause}`}
          />
          <Fact label="Does" value={stepsWords(remediation)} />
          <Fact label="At most" value={`${atMost.count} times in ${atMost.windowSeconds} s`} />
          <Fact label="Cool-down" value={`${coolDownSeconds} s`} />
          <Fact
            label="Last runs"
            value={`${count('verified')} verified, ${count('undone')} put back, ${count('failed')} failed, ${count('observed')} only observed`}
          />
        </dl>
      </div>
    </section>
  )
}

function Actions({
  remediation: { remediationId, accountId, name, mode, revision },
}: {
  remediation: Details
}) {
  const { cliEnvName: envName } = useEnvironment()
  const [confirming, setConfirming] = useState<'toggle' | 'delete' | null>(null)
  const navigate = useNavigate()
  if (!useIsAdmin(accountId)) return null
  const label = mode === 'off' ? 'Turn on' : 'Turn off'
  return (
    <div className="row actions">
      <button type="button" className="button" onClick={() => setConfirming('toggle')}>
        {label}
      </button>
      <button type="button" className="button danger" onClick={() => setConfirming('delete')}>
        Delete
      </button>
      {confirming === 'toggle' && (
        <ConfirmWrite
          row={toggleRemediation}
          input={{ remediationId, enabled: mode === 'off', expectedRevision: revision }}
          title={`${label} ${name}?`}
          action={label}
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
        />
      )}
      {confirming === 'delete' && (
        <ConfirmWrite
          row={deleteRemediation}
          input={{ remediationId, expectedRevision: revision }}
          title={`Delete ${name}?`}
          action="Delete remediation"
          danger
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
          onDone={() =>
            void navigate({
              to: '/environments/$envName/remediations',
              params: { envName },
              search: ({ account }) => ({ account }),
            })
          }
        />
      )}
    </div>
  )
}
