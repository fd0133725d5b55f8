import { lazy, Suspense } from 'react'
import { getAppEnvPods, getAppEnvStatus } from '../../../contract/app-env-reads.ts'
import { getAppEnvMetrics, getAppEnvUsage } from '../../../contract/measurements.ts'
import { everyMs, useRead } from '../../api/queries.ts'
import { Fact } from '../../components/Fact.tsx'
import { Failed, Loading } from '../../components/states.tsx'
import { Time } from '../../components/Time.tsx'
import { megabytes, quantity, startOfToday } from '../../components/words.ts'
import { untilLoaded } from '../../until-loaded.ts'
import { ContainerTable } from './ContainerTable.tsx'
import { ContainerTimeline } from './ContainerTimeline.tsx'
import { useEnvironment } from './environment.ts'
import { Findings } from './Findings.tsx'
import { Hosts } from './Hosts.tsx'
import { statusWords } from './status-words.ts'

// The chart library is the largest part of the page and shown last, so it is loaded lazily.
const TrafficCharts = lazy(() =>
  untilLoaded(() => import('./TrafficCharts.tsx')).then((module) => ({ default: module.TrafficCharts })),
)

/** Current state of the environment, its cause, and its addresses. */
export function SummaryPage() {
  return (
    <div className="stack">
      <StatusPanel />
      <Findings />
      <Containers />
      <Suspense fallback={<Loading rows={3} />}>
        <TrafficCharts />
      </Suspense>
      <Hosts />
    </div>
  )
}

function StatusPanel() {
  const environment = useEnvironment()
  const { appEnvId } = environment
  const status = useRead(getAppEnvStatus, { appEnvId }, { everyMs: everyMs.status })
  const metrics = useRead(getAppEnvMetrics, { appEnvId }, { everyMs: everyMs.list })
  const usage = useRead(getAppEnvUsage, { appEnvId, from: startOfToday() }, { everyMs: 60_000 })
  if (status.error && !status.data) return <Failed error={status.error} hidesForbidden />
  if (!status.data) return <Loading />
  const { tone, sentence, cause } = statusWords(status.data, environment)
  const { resources, ingress } = metrics.data ?? {}
  const { containers, currentDeployment } = status.data
  return (
    <section className="panel" aria-label="Status">
      <div className="body stack">
        <div className={`note tone-${tone}`} role="status">
          <strong>{sentence}</strong>
          {cause && <span className="mono">{cause}</span>}
          {currentDeployment && (
            <span className="muted small">
              Version {currentDeployment.version}: {currentDeployment.status.toLowerCase()}{' '}
              <Time at={currentDeployment.deployedAt ?? currentDeployment.createdAt} />
            </span>
          )}
        </div>
        <dl className="facts">
          <Fact label="Containers ready" value={`${containers.ready} of ${containers.desired}`} />
          {ingress && !environment.isDatabase && (
            <>
              <Fact label="Requests" value={quantity(ingress.requestRate, 'req/s')} />
              <Fact label="Errors (5xx)" value={quantity(ingress.rate5xx, 'err/s')} />
              <Fact
                label="Latency, 95th percentile"
                value={ingress.requestRate > 0 ? quantity(ingress.p95LatencySeconds, 's') : '–'}
              />
            </>
          )}
          {resources && resources.cpu.allocatedMillicores > 0 && (
            <>
              <Fact
                label="CPU"
                value={quantity(resources.cpu.percent, '%')}
                note={`of ${quantity(resources.cpu.allocatedMillicores / 1000, 'cores')}`}
              />
              <Fact
                label="Memory"
                value={quantity(resources.memory.percent, '%')}
                note={`of ${megabytes(resources.memory.allocatedMb)}`}
              />
            </>
          )}
          {usage.data && (
            <Fact
              label="Billed today"
              value={quantity(usage.data.billedZCloudSeconds / 3600, 'zCloud h')}
              note={usage.data.rateMultiplier > 1 ? `functions count × ${usage.data.rateMultiplier}` : ''}
            />
          )}
        </dl>
      </div>
    </section>
  )
}

function Containers() {
  const { appEnvId, isFunction } = useEnvironment()
  const read = useRead(getAppEnvPods, { appEnvId }, { everyMs: everyMs.status })
  return (
    <section className="panel" aria-labelledby="containers">
      <header>
        <h2 id="containers">Containers</h2>
        <span className="muted small">{isFunction && 'the last 20 of any status'}</span>
      </header>
      {read.error && !read.data && <Failed error={read.error} hidesForbidden />}
      {read.isPending && <Loading rows={2} />}
      {read.data && isFunction && <ContainerTimeline pods={read.data.pods} />}
      {read.data && <ContainerTable pods={read.data.pods} />}
    </section>
  )
}
