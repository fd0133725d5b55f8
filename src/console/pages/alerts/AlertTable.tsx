import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/Badge.tsx'
import { ScrollArea } from '../../components/ScrollArea.tsx'
import { Time } from '../../components/Time.tsx'
import { byUrgency, conditionWords, stateNames, stateTones } from './alert-words.ts'
import type { AlertRow } from './use-alerts.ts'

interface Props {
  alerts: readonly AlertRow[]
  /** Shows the environment of each alert. */
  isAcross?: boolean
}

/** Firing first. */
export function AlertTable({ alerts, isAcross = false }: Props) {
  return (
    <ScrollArea label="List of alerts">
      <table>
        <thead>
          <tr>
            <th scope="col">Alert</th>
            <th scope="col">State</th>
            {isAcross && <th scope="col">Environment</th>}
            <th scope="col">Fires when</th>
            <th scope="col">Notifies</th>
            <th scope="col">Checked</th>
          </tr>
        </thead>
        <tbody>
          {byUrgency(alerts).map((alert) => (
            <Row key={alert.alertId} alert={alert} isAcross={isAcross} />
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

function Row({ alert, isAcross }: { alert: AlertRow; isAcross: boolean }) {
  const { alertId, envName, name, contactPoints, lastStateCheck } = alert
  return (
    <tr>
      <th scope="row">
        <Link to="/environments/$envName/alerts/$alertId" params={{ envName, alertId }} search={keepAccount}>
          {name}
        </Link>
      </th>
      <td>
        <StateBadge alert={alert} />
      </td>
      {isAcross && (
        <td>
          <Link to="/environments/$envName/alerts" params={{ envName }} search={keepAccount}>
            {envName}
          </Link>
        </td>
      )}
      <td className="small">{conditionWords(alert)}</td>
      <td className="small">
        {contactPoints.length === 0 ? (
          <span className="muted">No contact point</span>
        ) : (
          contactPoints.map((point) => point.name).join(', ')
        )}
      </td>
      <td className="small muted" style={{ whiteSpace: 'nowrap' }}>
        {lastStateCheck ? <Time at={lastStateCheck} /> : 'Not yet'}
      </td>
    </tr>
  )
}

const keepAccount = ({ account }: { account?: string }) => ({ account })

/** A paused alert keeps its last state, which is outdated. */
export function StateBadge({ alert }: { alert: Pick<AlertRow, 'enabled' | 'lastKnownState'> }) {
  if (!alert.enabled) return <Badge tone="idle">Paused</Badge>
  return <Badge tone={stateTones[alert.lastKnownState]}>{stateNames[alert.lastKnownState]}</Badge>
}
