import { Link } from '@tanstack/react-router'
import { type Attention, getAccountHealth } from '../../../contract/diagnosis.ts'
import { getAccountUsage } from '../../../contract/measurements.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge, type Tone } from '../../components/Badge.tsx'
import { counted, quantity, startOfToday } from '../../components/words.ts'
import { useAccount } from '../../shell/account.ts'
import type { EnvironmentRow } from './EnvironmentTable.tsx'

const tones: Record<Attention['severity'], Tone> = { critical: 'bad', warning: 'warn', info: 'idle' }
const severityNames = { critical: 'Down', warning: 'Needs attention', info: 'Note' }
const mostNamed = 5

/** Problems, deployments in progress, and today's usage of the whole account. */
export function Glance({ rows }: { rows: readonly EnvironmentRow[] }) {
  const { accountId } = useAccount()
  // The summary covers every environment of the account, and its time of checking makes each answer new.
  const health = useRead(getAccountHealth, { accountId }, { everyMs: everyMs.chart })
  const usage = useRead(getAccountUsage, { accountId, from: startOfToday() }, { everyMs: 60_000 })
  const { alerts, worst = [], regionsAway = [] } = health.data ?? {}
  return (
    <section className="panel" aria-label="At a glance">
      <div className="body stack">
        <dl className="facts">
          <div>
            <dt>Firing alerts</dt>
            <dd>
              <Link to="/alerts" search={({ account }) => ({ account, state: 'Firing' as const })}>
                {alerts?.firing ?? missing(health)}
              </Link>{' '}
              {alerts && <small>of {counted(alerts.total, 'alert')}</small>}
            </dd>
          </div>
          <div>
            <dt>Running deployments</dt>
            <dd>
              <Deploying rows={rows} />
            </dd>
          </div>
          <div>
            <dt>Billed today</dt>
            <dd>
              {usage.data ? quantity(usage.data.billedZCloudSeconds / 3600, 'zCloud h') : missing(usage)}
            </dd>
          </div>
        </dl>
        {regionsAway.map((region) => (
          <p key={region} className="note tone-bad">
            <strong>The engine of the region {region} does not answer.</strong>
          </p>
        ))}
        {worst.length > 0 && (
          <ul aria-label="Environments that need attention" className="stack">
            {worst.map((one) => (
              <Worst key={one.envName} one={one} />
            ))}
          </ul>
        )}
      </div>
    </section>
  )
}

/** A placeholder for a figure that has not arrived yet. */
function missing({ error }: { error: unknown }): string {
  return error ? 'Cannot be read' : '–'
}

function Deploying({ rows }: { rows: readonly EnvironmentRow[] }) {
  const moving = rows.filter(({ status }) => status === 'PENDING' || status === 'UPDATING')
  return (
    <>
      {moving.length}{' '}
      <small>
        {moving.slice(0, mostNamed).map(({ cliEnvName: envName }) => (
          <Link
            key={envName}
            to="/environments/$envName/deployments"
            params={{ envName }}
            search={({ account }) => ({ account })}
          >
            {envName}{' '}
          </Link>
        ))}
      </small>
    </>
  )
}

function Worst({ one: { envName, severity, causes, firingAlerts, rejectedVersion } }: { one: Attention }) {
  const words = causes.map((cause) => cause.replaceAll('-', ' '))
  if (rejectedVersion !== undefined) words.push(`version ${rejectedVersion} failed, an earlier one serves`)
  if (firingAlerts > 0) words.push(`${counted(firingAlerts, 'alert')} firing`)
  return (
    <li className="row">
      <Badge tone={tones[severity]}>{severityNames[severity]}</Badge>
      <Link to="/environments/$envName" params={{ envName }} search={({ account }) => ({ account })}>
        {envName}
      </Link>
      <span className="muted small">{words.join(', ')}</span>
    </li>
  )
}
