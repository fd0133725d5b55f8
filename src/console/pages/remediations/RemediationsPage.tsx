import { Link } from '@tanstack/react-router'
import type { OutputOf } from '../../../contract/operation.ts'
import { listRemediations } from '../../../contract/remediations.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { Empty, Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { useEnvironment } from '../environments/environment.ts'
import { modeTones, modeWords, statusName, statusTones, stepsWords } from './words.ts'

type Row = OutputOf<typeof listRemediations>['remediations'][number]

const columns: Column<Row>[] = [
  {
    title: 'Remediation',
    cell: ({ envName, remediationId, name }) => (
      <Link
        to="/environments/$envName/remediations/$remediationId"
        params={{ envName, remediationId }}
        search={({ account }) => ({ account })}
      >
        {name}
      </Link>
    ),
  },
  { title: 'Mode', cell: ({ mode }) => <Badge tone={modeTones[mode]}>{modeWords[mode]}</Badge> },
  { title: 'Does', kind: 'small', cell: stepsWords },
  {
    title: 'Last run',
    cell: ({ lastRun }) =>
      lastRun ? (
        <Badge tone={statusTones[lastRun.status]}>{statusName(lastRun.status)}</Badge>
      ) : (
        <span className="muted">None yet</span>
      ),
  },
  {
    title: 'Since',
    kind: 'small muted nowrap',
    cell: ({ lastRun }) => lastRun && <Time at={lastRun.startedAt} />,
  },
]

/** The remediations of one environment, with their last runs. */
export function RemediationsPage() {
  const { appEnvId } = useEnvironment()
  const read = useRead(listRemediations, { appEnvId }, { everyMs: everyMs.status })
  const rows = read.data?.remediations
  return (
    <section className="panel" aria-labelledby="remediations">
      <header>
        <h2 id="remediations">Remediations</h2>
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading />}
      {rows?.length === 0 && (
        <Empty title="No remediations">
          A remediation takes steps when an alert fires or a cause is found, and puts them back if they do not
          help. The command <code>longshore remediations create</code> makes one.
        </Empty>
      )}
      {rows && rows.length > 0 && (
        <Table
          label="List of remediations"
          columns={columns}
          rows={rows}
          keyOf={({ remediationId }) => remediationId}
        />
      )}
    </section>
  )
}
