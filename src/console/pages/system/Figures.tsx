import { Fact } from '../../components/Fact.tsx'
import { Time } from '../../components/Time.tsx'
import { megabytes, quantity, whole } from '../../components/words.ts'
import type { Metric } from './metrics-text.ts'

const stores: Record<string, string> = { sqlite: 'SQLite', postgresql: 'PostgreSQL' }

/** The running platform: version, store and start time. */
export function Installation({ metrics }: { metrics: readonly Metric[] }) {
  const { version, store } = metrics.find(({ name }) => name === 'longshore_info')?.labels ?? {}
  const started = metrics.find(({ name }) => name === 'longshore_start_time_seconds')
  if (version === undefined) return null
  return (
    <Panel id="installation" title="Control plane">
      <Fact label="Version" value={version} />
      <Fact label="Store" value={stores[store ?? ''] ?? store ?? '–'} />
      {started && (
        <Fact label="Started" value={<Time at={new Date(started.value * 1_000).toISOString()} />} />
      )}
    </Panel>
  )
}

const queueNames: Record<string, string> = {
  notifications: 'Notifications to deliver',
  'job-runs': 'Job runs',
  backups: 'Backups',
  restores: 'Restores',
}

/** Work that waits or is in progress. */
export function Queues({ metrics }: { metrics: readonly Metric[] }) {
  const queues = metrics.filter(({ name }) => name === 'longshore_queue_length')
  const underWay = metrics.find(({ name }) => name === 'longshore_gateway_requests_in_flight')
  if (queues.length === 0) return null
  return (
    <Panel id="queues" title="Queues" note="Waiting or under way">
      {queues.map(({ labels: { queue = '' }, value }) => (
        <Fact key={queue} label={queueNames[queue] ?? queue} value={whole(value)} />
      ))}
      {underWay && <Fact label="Requests in the gateway" value={whole(underWay.value)} />}
    </Panel>
  )
}

const figures: readonly [name: string, label: string, words: (value: number) => string][] = [
  ['longshore_environments', 'Environments that should run', (value) => whole(value)],
  ['longshore_containers_ready', 'Containers ready', (value) => whole(value)],
  ['longshore_gateway_requests_total', 'Requests served', (value) => whole(value)],
  ['longshore_cold_starts_total', 'Cold starts', (value) => whole(value)],
  ['longshore_operations_in_flight', 'Operations under way', (value) => whole(value)],
  ['longshore_resident_memory_bytes', 'Memory of the control plane', (value) => megabytes(value / 2 ** 20)],
  ['longshore_metric_store_bytes', 'Stored measurements', (value) => megabytes(value / 2 ** 20)],
]

export function SinceStart({ metrics }: { metrics: readonly Metric[] }) {
  const lag = metrics.find(
    ({ name, labels }) => name === 'longshore_event_loop_lag_seconds' && labels.quantile === '0.99',
  )
  return (
    <Panel
      id="figures"
      title="Since the platform started"
      note={
        <a className="small" href="/metrics">
          All metrics
        </a>
      }
    >
      {figures.map(([wanted, label, words]) => {
        const metric = metrics.find(({ name }) => name === wanted)
        return metric && <Fact key={wanted} label={label} value={words(metric.value)} />
      })}
      {lag && <Fact label="Event loop delay, 99th percentile" value={quantity(lag.value, 's')} />}
    </Panel>
  )
}

interface PanelProps {
  id: string
  title: string
  note?: React.ReactNode
  children: React.ReactNode
}

function Panel({ id, title, note, children }: PanelProps) {
  return (
    <section className="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        <span className="muted small">{note}</span>
      </header>
      <div className="body">
        <dl className="facts">{children}</dl>
      </div>
    </section>
  )
}
