import { useQuery } from '@tanstack/react-query'
import type { OutputOf } from '../../../contract/operation.ts'
import { listRegions, type RegionCapabilities } from '../../../contract/regions.ts'
import { getUser } from '../../../contract/users.ts'
import type { AppError } from '../../../errors.ts'
import { statusPage } from '../../api/client.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Badge } from '../../components/Badge.tsx'
import { PageTitle } from '../../components/PageTitle.tsx'
import { Failed, Loading, NotFound } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { whole } from '../../components/words.ts'
import { operationWords } from '../../words/operations.ts'
import { valueWords } from '../../words/values.ts'
import { Installation, Queues, SinceStart } from './Figures.tsx'
import { Instances } from './Instances.tsx'
import { type Metric, operationCounts, parseMetrics } from './metrics-text.ts'

/** For operators: readiness of the platform, its regions, and its own metrics since the start. */
export function SystemPage() {
  const user = useRead(getUser, {})
  if (user.error && !user.data) return <Failed error={user.error} retry={() => user.refetch()} />
  if (!user.data) return <Loading />
  if (!user.data.operator) return <NotFound />
  return (
    <>
      <div className="page-head">
        <PageTitle>System</PageTitle>
      </div>
      <div className="stack">
        <Readiness />
        <Instances />
        <Regions />
        <Figures />
      </div>
    </>
  )
}

function useStatusPage(pathname: string) {
  return useQuery<{ status: number; text: string }, AppError>({
    queryKey: [pathname],
    queryFn: async ({ signal }) => {
      const { status, text } = await statusPage(pathname, signal)
      return { status, text }
    },
    refetchInterval: everyMs.list,
  })
}

function Readiness() {
  const read = useStatusPage('/readyz')
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading rows={1} />
  const isReady = read.data.status === 200
  const details = isReady ? null : (JSON.parse(read.data.text) as { details?: string }).details
  return (
    <div className={`note tone-${isReady ? 'ok' : 'bad'}`} role="status">
      <strong>{isReady ? 'The platform is ready.' : 'The platform is not ready.'}</strong>
      {details && <span>{details}</span>}
    </div>
  )
}

const regionColumns: Column<OutputOf<typeof listRegions>['regions'][number]>[] = [
  {
    title: 'Region',
    cell: ({ name, region }) => (
      <>
        {name} <span className="muted">{region}</span>
      </>
    ),
  },
  { title: 'Engine', cell: ({ engine }) => engine },
  {
    title: 'State',
    cell: ({ available, unavailableReason }) => (
      <>
        <Badge tone={available ? 'ok' : 'bad'}>{available ? 'Available' : 'Away'}</Badge>{' '}
        <span className="muted small">{unavailableReason}</span>
      </>
    ),
  },
  { title: 'Runs', kind: 'muted', cell: ({ capabilities }) => runsWords(capabilities) },
  {
    title: 'Functions',
    cell: ({ functionDomain }) =>
      functionDomain ? <code className="nowrap">{functionDomain}</code> : <Badge tone="idle">Not here</Badge>,
  },
  {
    title: 'Isolation',
    cell: ({ isolation: { metadataBlocked, reason } }) => (
      <>
        {metadataBlocked ? (
          <Badge tone="ok">Instance metadata blocked</Badge>
        ) : (
          <Badge tone="warn">Instance metadata reachable</Badge>
        )}{' '}
        <span className="muted small">{reason}</span>
      </>
    ),
  },
]

/** Its capabilities in words; functions have a column of their own. */
function runsWords({ databases, functions: _functions, ...others }: RegionCapabilities): string {
  const works = Object.entries(others).filter(([, isThere]) => isThere)
  const names = databases.map((preset) => valueWords('dockerPreset', preset))
  return [...works.map(([name]) => name), ...names].join(', ') || 'nothing'
}

function Regions() {
  const read = useRead(listRegions, {}, { everyMs: everyMs.chart })
  return (
    <section className="panel" aria-labelledby="regions">
      <header>
        <h2 id="regions">Regions</h2>
      </header>
      {read.error && !read.data && <Failed error={read.error} retry={() => read.refetch()} />}
      {read.isPending && <Loading rows={2} />}
      {read.data && (
        <Table
          label="List of regions"
          columns={regionColumns}
          rows={read.data.regions}
          keyOf={({ region }) => region}
        />
      )}
    </section>
  )
}

function Figures() {
  const read = useStatusPage('/metrics')
  if (read.error && !read.data) return <Failed error={read.error} retry={() => read.refetch()} />
  if (!read.data) return <Loading />
  const metrics = parseMetrics(read.data.text)
  return (
    <>
      <Installation metrics={metrics} />
      <Queues metrics={metrics} />
      <SinceStart metrics={metrics} />
      <Operations metrics={metrics} />
    </>
  )
}

function Operations({ metrics }: { metrics: readonly Metric[] }) {
  const rows = operationCounts(metrics)
  if (rows.length === 0) return null
  return (
    <section className="panel" aria-labelledby="operations">
      <header>
        <h2 id="operations">Operations</h2>
        <span className="muted small">Own errors first</span>
      </header>
      <Table
        label="List of operations"
        maxHeight={420}
        columns={[
          { title: 'Operation', cell: ({ operation }) => operationWords(operation) },
          { title: 'Carried out', kind: 'number', cell: ({ ok }) => whole(ok) },
          { title: 'Refused', kind: 'number', cell: ({ refused }) => whole(refused) },
          {
            title: 'Own errors',
            kind: 'number',
            cell: ({ faults }) => (faults > 0 ? <Badge tone="bad">{whole(faults)}</Badge> : '0'),
          },
        ]}
        rows={rows}
        keyOf={({ operation }) => operation}
      />
    </section>
  )
}
