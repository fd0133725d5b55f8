import type { Pod } from '../../../contract/app-env-reads.ts'
import { Badge, type Tone } from '../../components/Badge.tsx'
import { Empty } from '../../components/states.tsx'
import { type Column, Table } from '../../components/Table.tsx'
import { Time } from '../../components/Time.tsx'
import { megabytes, quantity } from '../../components/words.ts'

export function ContainerTable({ pods }: { pods: readonly Pod[] }) {
  if (pods.length === 0) return <Empty title="No containers">One appears here when it starts.</Empty>
  return <Table label="List of containers" columns={columns} rows={pods} keyOf={({ podId }) => podId} />
}

const columns: Column<Pod>[] = [
  { title: 'Container', kind: 'mono', cell: ({ name }) => name },
  { title: 'Status', cell: (pod) => <ContainerState pod={pod} /> },
  { title: 'Started', cell: ({ startedAt }) => (startedAt ? <Time at={startedAt} /> : '–') },
  {
    title: 'Ended',
    cell: ({ finishedAt, lastTermination: end }) => (
      <>
        {finishedAt ? <Time at={finishedAt} /> : '–'}
        {end && (
          <span className="muted small">
            {' '}
            {end.reason}, exit code {end.exitCode}
          </span>
        )}
      </>
    ),
  },
  { title: 'Restarts', kind: 'number', cell: ({ restartCount }) => restartCount },
  {
    title: 'Size',
    kind: 'number',
    cell: ({ resources: { cpu, memoryMb } }) => `${quantity(cpu, 'CPU')}, ${megabytes(memoryMb)}`,
  },
]

export function ContainerState({ pod: { status, containerReady } }: { pod: Pod }) {
  if (status === 'Running')
    return <Badge tone={containerReady ? 'ok' : 'busy'}>{containerReady ? 'Ready' : 'Starting'}</Badge>
  const tones: Record<string, Tone> = { Pending: 'busy', Succeeded: 'idle', Failed: 'bad' }
  return <Badge tone={tones[status] ?? 'idle'}>{status === 'Succeeded' ? 'Ended' : status}</Badge>
}
