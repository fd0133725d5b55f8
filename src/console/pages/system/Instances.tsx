import { listInstances } from '../../../contract/instances.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Failed, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { sentenceCase } from '../../words/text.ts'

type Instance = OutputOf<typeof listInstances>['instances'][number]

const columns: Column<Instance>[] = [
  { title: 'Instance', cell: ({ node }) => node },
  { title: 'Version', cell: ({ version }) => version },
  { title: 'Started', cell: ({ startedAt }) => <Time at={startedAt} /> },
  { title: 'Last seen', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} /> },
  {
    title: 'Role',
    cell: ({ leases }) =>
      leases.length === 0
        ? 'Standby'
        : leases.map(({ name, since }) => (
            <div key={name}>
              {sentenceCase(name)}{' '}
              <span className="muted small">
                since <Time at={since} />
              </span>
            </div>
          )),
  },
  { title: 'Regions', kind: 'muted', cell: ({ regions }) => regions.join(', ') },
]

/** The running control planes. Left out for members who are not operators. */
export function Instances() {
  const read = useRead(listInstances, {}, { everyMs: everyMs.chart })
  if (read.error?.kind === 'forbidden') return null
  return (
    <section className="panel" aria-labelledby="instances">
      <header>
        <h2 id="instances">Instances</h2>
        <span className="muted small">Running control planes</span>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading rows={1} />}
      {read.data && (
        <Table
          label="List of instances"
          columns={columns}
          rows={read.data.instances}
          keyOf={({ node }) => node}
        />
      )}
    </section>
  )
}
