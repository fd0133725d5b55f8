import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { type AlertDetails, deleteAlert, getAlert, toggleAlert } from '../../../contract/alerts.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { ConfirmWrite } from '../../components/ConfirmWrite.tsx'
import { Failed, Loading, NotFound } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { quantity } from '../../components/words.ts'
import { useEnvironment } from '../environments/environment.ts'
import { Deliveries, StateChanges, StatePanel } from './AlertHistory.tsx'
import { StateBadge } from './AlertTable.tsx'
import { useIsAdmin } from './use-alerts.ts'
import { conditionWords } from './words.ts'

/** One alert: its state over time, and the delivery of its notifications. Notifications link here. */
export function AlertPage() {
  const { alertId } = useParams({ from: '/frame/environments/$envName/alerts/$alertId' })
  const { appEnvId } = useEnvironment()
  const read = useRead(getAlert, { alertId }, { everyMs: everyMs.status })
  const isLost = read.error && ['not-found', 'forbidden'].includes(read.error.kind)
  if (read.error && (!read.data || isLost)) return <Failed error={read.error} hidesForbidden />
  if (!read.data) return <Loading rows={6} />
  if (read.data.appEnvId !== appEnvId) return <NotFound />
  return (
    <div className="stack">
      <Head alert={read.data} />
      <StatePanel alert={read.data} />
      <div className="charts">
        <StateChanges alert={read.data} />
        <Deliveries alert={read.data} />
      </div>
    </div>
  )
}

function Head({ alert }: { alert: AlertDetails }) {
  const { currentValue, unit, lastStateCheck, description, contactPoints, enabled } = alert
  return (
    <section className="panel" aria-labelledby="alert">
      <header>
        <h2 id="alert">{alert.name}</h2>
        <StateBadge alert={alert} />
        <Actions alert={alert} />
      </header>
      <div className="body stack">
        <p>
          Fires when: {conditionWords(alert)}.{description && <span className="muted"> {description}</span>}
        </p>
        <dl className="facts">
          <div>
            <dt>Value now</dt>
            <dd>{currentValue === null ? 'No data' : quantity(currentValue, unit)}</dd>
          </div>
          <div>
            <dt>Threshold</dt>
            <dd>{quantity(alert.threshold, unit)}</dd>
          </div>
          <div>
            <dt>{enabled ? 'Checked' : 'Last checked before the pause'}</dt>
            <dd>{lastStateCheck ? <Time at={lastStateCheck} /> : 'Not yet'}</dd>
          </div>
          <div>
            <dt>Notifies</dt>
            <dd>{contactPoints.map(({ name }) => name).join(', ') || 'No contact point'}</dd>
          </div>
        </dl>
      </div>
    </section>
  )
}

function Actions({ alert: { alertId, accountId, name, enabled, revision } }: { alert: AlertDetails }) {
  const { cliEnvName: envName } = useEnvironment()
  const [confirming, setConfirming] = useState<'toggle' | 'delete' | null>(null)
  const navigate = useNavigate()
  const search = ({ account }: { account?: string }) => ({ account })
  if (!useIsAdmin(accountId)) return null
  const label = enabled ? 'Pause' : 'Resume'
  return (
    <div className="row actions">
      <button type="button" className="button" onClick={() => setConfirming('toggle')}>
        {label}
      </button>
      <Link
        to="/environments/$envName/alerts/$alertId/edit"
        params={{ envName, alertId }}
        search={search}
        className="button"
      >
        Edit
      </Link>
      <button type="button" className="button danger" onClick={() => setConfirming('delete')}>
        Delete
      </button>
      {confirming === 'toggle' && (
        <ConfirmWrite
          row={toggleAlert}
          input={{ alertId, enabled: !enabled, expectedRevision: revision }}
          title={`${label} ${name}?`}
          action={label}
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
        />
      )}
      {confirming === 'delete' && (
        <ConfirmWrite
          row={deleteAlert}
          input={{ alertId, expectedRevision: revision }}
          title={`Delete ${name}?`}
          action="Delete alert"
          danger
          done={({ message }) => message}
          onClose={() => setConfirming(null)}
          onDone={() => void navigate({ to: '/environments/$envName/alerts', params: { envName }, search })}
        />
      )}
    </div>
  )
}
