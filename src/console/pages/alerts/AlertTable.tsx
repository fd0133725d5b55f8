import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/Badge.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import type { AlertRow } from './use-alerts.ts'
import { byUrgency, conditionWords, stateNames, stateTones } from './words.ts'

interface Props {
  alerts: readonly AlertRow[]
  /** Shows the environment of each alert. */
  isAcross?: boolean
}

const keepAccount = ({ account }: { account?: string }) => ({ account })

const columns: Column<AlertRow>[] = [
  {
    title: 'Alert',
    cell: ({ envName, alertId, name }) => (
      <Link to="/environments/$envName/alerts/$alertId" params={{ envName, alertId }} search={keepAccount}>
        {name}
      </Link>
    ),
  },
  { title: 'State', cell: (alert) => <StateBadge alert={alert} /> },
  { title: 'Fires when', kind: 'small', cell: conditionWords },
  {
    title: 'Notifies',
    kind: 'small',
    cell: ({ contactPoints }) =>
      contactPoints.length === 0 ? (
        <span className="muted">No contact point</span>
      ) : (
        contactPoints.map(({ name }) => name).join(', ')
      ),
  },
  {
    title: 'Checked',
    kind: 'small muted nowrap',
    cell: ({ lastStateCheck }) => (lastStateCheck ? <Time at={lastStateCheck} /> : 'Not yet'),
  },
]

const environment: Column<AlertRow> = {
  title: 'Environment',
  cell: ({ envName }) => (
    <Link to="/environments/$envName/alerts" params={{ envName }} search={keepAccount}>
      {envName}
    </Link>
  ),
}

/** Firing first. */
export function AlertTable({ alerts, isAcross = false }: Props) {
  return (
    <Table
      label="List of alerts"
      columns={isAcross ? columns.toSpliced(2, 0, environment) : columns}
      rows={byUrgency(alerts)}
      keyOf={({ alertId }) => alertId}
    />
  )
}

/** A paused alert keeps its last state, which is outdated. */
export function StateBadge({ alert }: { alert: Pick<AlertRow, 'enabled' | 'lastKnownState'> }) {
  if (!alert.enabled) return <Badge tone="idle">Paused</Badge>
  return <Badge tone={stateTones[alert.lastKnownState]}>{stateNames[alert.lastKnownState]}</Badge>
}
